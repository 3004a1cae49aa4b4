"""The models that the user chose at run time, in one file of the home."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import structlog

from ..atomic import write_atomically
from ..ports import Files
from ..types.inference import ModelRef

log = structlog.get_logger(__name__)


class FileModelChoices:
    """Read once; written whole at each choice. A file that does not parse counts as no choice and is kept aside."""

    def __init__(self, home: Path, files: Files) -> None:
        self._path, self._files = home / "models.json", files
        self._chosen: dict[str, tuple[ModelRef, ...]] | None = None

    def chosen(self, role: str) -> tuple[ModelRef, ...]:
        return self._all().get(role, ())

    async def choose(self, role: str, models: tuple[ModelRef, ...]) -> None:
        chosen = {**self._all(), role: models}
        data = {name: [str(ref) for ref in refs] for name, refs in chosen.items() if refs}
        text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
        await asyncio.to_thread(write_atomically, self._files, self._path, text.encode())
        self._chosen = chosen

    def _all(self) -> dict[str, tuple[ModelRef, ...]]:
        if self._chosen is None:
            self._chosen = self._read()
        return self._chosen

    def _read(self) -> dict[str, tuple[ModelRef, ...]]:
        try:
            with self._files.open(self._path, "rb") as handle:
                data = json.loads(handle.read())
            return {name: tuple(ModelRef.parse(text) for text in texts) for name, texts in data.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError, RecursionError, OSError) as error:
            return self._set_aside(error)

    def _set_aside(self, error: Exception) -> dict[str, tuple[ModelRef, ...]]:
        aside = self._path.with_suffix(".unreadable.json")
        try:
            self._files.replace(self._path, aside)
        except OSError as refusal:
            log.warning("choices.unreadable", path=str(self._path), error=str(refusal))
        else:
            log.warning("choices.unreadable", path=str(self._path), kept_as=str(aside), error=str(error))
        return {}
