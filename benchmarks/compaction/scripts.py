"""What a long session is made of: turns that hold facts, and templates for everything between them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml

from bumble_core.types.base import Value

_FOLDER = Path(__file__).parent / "scripts"
NAMES = (
    "coding_ferries",
    "coding_herbarium",
    "coding_library",
    "research_peat",
    "research_expedition",
    "personal_move",
    "personal_allotment",
    "german_organ",
    "chinese_teahouse",
    "spanish_oil",
)


class Ask(Value):
    """A question on a turn; each of `answers` stands `where` and nowhere else in the session."""

    q: str
    answers: tuple[str, ...]
    where: Literal["user", "assistant", "tool"] = "user"
    identifier: bool = False


class Beat(Value):
    """A turn that holds facts. `around` is the tool in whose ordinary output the result is buried."""

    user: str
    assistant: str
    tool: str = ""
    arguments: dict[str, str] = {}
    result: str = ""
    around: str = ""
    asks: tuple[Ask, ...] = ()


class Work(Value):
    """A tool and templates of its output: `count` says of how many lines, `prose` joins them to paragraphs."""

    tool: str
    arguments: dict[str, str]
    before: str
    head: str = ""
    lines: str
    count: tuple[int, int]
    prose: bool = False
    error: str = ""


class Script(Value):
    """`chats` and `tasks` are templates of a user's line and the assistant's, by turns; `words` fill their slots.

    Those in `steady` keep their word through a turn, except in the lines of outputs.
    """

    kind: Literal["coding", "research", "personal"]
    language: str
    tokens: int
    work_share: float
    words: dict[str, str]
    steady: str
    chats: str
    tasks: str
    works: tuple[Work, ...]
    beats: tuple[Beat, ...]


def script(name: str) -> Script:
    return Script.model_validate(yaml.safe_load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Take two lines together."""
    lines = text.splitlines()
    return tuple(zip(lines[::2], lines[1::2], strict=True))
