"""Messages with the label that they deserve: what a router is measured by."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import ValidationError

from ..errors import RunError
from ..types.base import Value
from ..types.turn import Label

SPLITS: Final = ("dev", "test")
_PACKAGED = Path(__file__).parent / "sets" / "routing"
_IN_CHECKOUT = Path(__file__).parents[2] / "benchmarks" / "routing"


class LabelledMessage(Value):
    """A message and what it needs: a short reply, tools, an exact answer, or thought."""

    id: str
    language: str
    label: Label
    text: str

    @property
    def profile(self) -> str:
        return "reflex" if self.label == "CHAT" else "deliberate"


def shipped_messages() -> Path:
    """Return the folder of the set that comes with bumble-core, installed or in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _IN_CHECKOUT


def read_messages(folder: Path, split: str) -> tuple[LabelledMessage, ...]:
    """Read every `*.jsonl` of a set's folder; `split` is one of its parts or `all`.

    Raises:
        RunError: there is no such folder, it holds no message, or a line is no labelled message.
    """
    parts = [folder / part for part in SPLITS if split in (part, "all")]
    found = [path for part in parts for path in sorted(part.glob("*.jsonl"))] or sorted(folder.glob("*.jsonl"))
    messages = tuple(_read(path, at, line) for path in found for at, line in enumerate(_lines(path), 1) if line.strip())
    if not messages:
        raise RunError(f"{folder}: no labelled messages; a set is a folder with `dev/*.jsonl` and `test/*.jsonl`")
    return messages


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from error


def _read(path: Path, at: int, line: str) -> LabelledMessage:
    try:
        return LabelledMessage.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RunError(f"{path}:{at}: {f'{place}: ' if place else ''}{first['msg']}") from error
