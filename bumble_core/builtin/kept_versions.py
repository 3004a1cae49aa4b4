"""Earlier texts of documents, under `home/history/`: one file each, named by when it was kept and by its version."""

from __future__ import annotations

import hashlib
import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..atomic import sweep, write_atomically
from ..ports import Clock, Files

KEPT_VERSIONS = 50
_SAVED = re.compile(r"^(?P<at>\d{8}T\d{6}\.\d{6}Z)-(?P<version>[0-9a-f]{64})$")
_SAVED_AT = "%Y%m%dT%H%M%S.%fZ"


class KeptVersions:
    """Whoever writes here holds the lock of documents."""

    def __init__(self, folder: Path, files: Files, clock: Clock) -> None:
        self._folder, self._files, self._clock = folder, files, clock

    def saved(self, name: str) -> tuple[re.Match[str], ...]:
        """Return the names of what is kept, the oldest first, with `at` and `version` in them."""
        folder = self._folder / name
        names = sorted(os.listdir(folder)) if folder.is_dir() else []  # noqa: PTH208 only the names are wanted
        return tuple(found for found in map(_SAVED.match, names) if found)

    def path(self, name: str, found: re.Match[str]) -> Path:
        return self._folder / name / found.string

    def save(self, name: str, data: bytes, version: str) -> None:
        """Keep a text that is about to be replaced, and drop the oldest of too many."""
        saved = self.saved(name)
        if saved and saved[-1]["version"] == version:
            return
        write_atomically(self._files, self._next(name, version), data)
        for old in saved[: max(0, len(saved) + 1 - KEPT_VERSIONS)]:
            self._files.unlink(self.path(name, old))

    def take(self, name: str, file: Path, data: bytes) -> Path:
        """Keep a file itself: whoever has it open goes on writing into what is kept."""
        kept = self._next(name, hashlib.sha256(data).hexdigest())
        self._files.replace(file, kept)
        return kept

    def sweep(self) -> None:
        sweep(self._files, self._folder)

    def _next(self, name: str, version: str) -> Path:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        saved = self.saved(name)
        at = self._clock.now().astimezone(UTC)
        if saved:  # names sort as the texts followed each other, whatever the clock says
            at = max(at, time_of(saved[-1]) + timedelta(microseconds=1))
        return folder / f"{at.strftime(_SAVED_AT)}-{version}"


def time_of(found: re.Match[str]) -> datetime:
    return datetime.strptime(found["at"], _SAVED_AT).replace(tzinfo=UTC)
