"""The models that the user chose at run time, in one file of the home."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import structlog

from ..atomic import write_atomically
from ..ports import Clock, Files
from ..types.inference import ModelRef
from .leases import Leases

log = structlog.get_logger(__name__)


class FileModelChoices:
    """Read when it changed, whoever changed it: a choice in one process holds in all others from then on.

    A file that does not parse counts as no choice and is kept aside.
    """

    def __init__(self, home: Path, files: Files, clock: Clock) -> None:
        self._path, self._files = home / "models.json", files
        self._leases = Leases(home, clock)
        self._chosen: dict[str, tuple[ModelRef, ...]] = {}
        self._seen: tuple[int, int, int] | None = None  # the state of the file that was read

    def chosen(self, role: str) -> tuple[ModelRef, ...]:
        if (now := self._stamp()) != self._seen:
            self._chosen, self._seen = self._read(), now
        return self._chosen.get(role, ())

    async def choose(self, role: str, models: tuple[ModelRef, ...]) -> None:
        await asyncio.to_thread(self._choose, role, models)

    def _choose(self, role: str, models: tuple[ModelRef, ...]) -> None:
        with self._leases.writing("choices"):
            chosen = {**self._read(), role: models}
            data = {name: [str(ref) for ref in refs] for name, refs in chosen.items() if refs}
            text = json.dumps(data, ensure_ascii=False, indent=2) + "\n"
            write_atomically(self._files, self._path, text.encode())

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

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
