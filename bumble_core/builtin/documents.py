"""The agent's memory as plain text files under `home/memory/`, with earlier texts under `home/history/`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from ..atomic import is_part, sweep, write_atomically
from ..errors import ContractError, DocumentError, VersionConflict
from ..ports import Clock, Files
from ..types.documents import ABSENT, Document, Version
from .leases import Leases

KEPT_VERSIONS = 50
_OF_LEDGER = ("cognition/jobs", "cognition/open", "cognition/runs")  # written by the job ledger, under its own lock
_SAVED = re.compile(r"^(?P<at>\d{8}T\d{6}\.\d{6}Z)-(?P<version>[0-9a-f]{64})$")
_SAVED_AT = "%Y%m%dT%H%M%S.%fZ"
_SETTLED_S = 2.0  # within a tick of a file system's clock two writes can look alike; what is younger is read


class FileDocuments:
    """Fills the `Documents` port. Texts are UTF-8 and written as given: line endings and a byte order mark stay.

    Raises:
        DocumentError: a file is not UTF-8, not a regular file, or the disk refuses.
    """

    def __init__(self, home: Path, files: Files, clock: Clock) -> None:
        self._memory = home / "memory"
        self._history = home / "history"
        self._files = files
        self._clock = clock
        self._leases = Leases(home, clock)
        self._swept = False

    async def read(self, path: str) -> Document:
        return await asyncio.to_thread(self._read, path)

    async def write(self, path: str, text: str, expected: str) -> Document:
        return await asyncio.to_thread(self._write, path, text, expected)

    async def list(self, folder: str = "") -> tuple[str, ...]:
        """Return the paths of all documents below `folder`; the job ledger's only when it names their folder."""
        return await asyncio.to_thread(self._list, folder)

    async def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        return await asyncio.to_thread(self._stamps, paths)

    async def versions(self, path: str) -> tuple[Version, ...]:
        """Return the earlier texts that are kept, the newest first."""
        return await asyncio.to_thread(self._versions, path)

    async def read_version(self, path: str, version: str) -> Document:
        return await asyncio.to_thread(self._read_version, path, version)

    def _read(self, path: str) -> Document:
        name, file = self._locate(path)
        with _explained(name):
            return _document(name, self._bytes(file))

    def _write(self, path: str, text: str, expected: str) -> Document:
        name, file = self._locate(path)
        if any(file.is_relative_to(self._memory.resolve() / folder) for folder in _OF_LEDGER):
            raise ContractError(f"document `{name}`: the job ledger keeps this folder; write somewhere else")
        with _explained(name), self._leases.writing("documents"):
            self._sweep()
            before = self._bytes(file)
            found = _document(name, before)
            if found.version != expected:
                raise VersionConflict(
                    f"document `{name}`: expected version `{expected}`, found `{found.version}`; read it again"
                )
            data = text.encode()
            if data != before:
                if before is not None:
                    self._save(name, before, found.version)
                file.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(self._files, file, data)
            return _document(name, data)

    def _list(self, folder: str) -> tuple[str, ...]:
        name, root = self._locate(folder) if folder else ("", self._memory)
        found: set[PurePosixPath] = set()
        with _explained(name):
            for base, folders, names in os.walk(root):
                folders[:] = [one for one in folders if not self._is_of_ledger(Path(base, one))]
                paths = (Path(base, one) for one in names if not is_part(one))
                found |= {PurePosixPath(name, path.relative_to(root)) for path in paths if self._is_document(path)}
        return tuple(sorted(path.as_posix() for path in found))

    def _stamps(self, paths: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in paths:
            name = _plain(path) if path else ""
            with _explained(name):
                names = self._below(name) if (self._memory / name).is_dir() else (name,)
                found |= {one: stamp for one in names if (stamp := self._stamp(one))}
        return found

    def _below(self, name: str) -> Iterator[str]:
        """Yield the names of files below a folder without looking at any; links are refused when they are read."""
        begin = len(str(self._memory)) + 1
        for base, folders, names in os.walk(self._memory / name):
            inner = f"{base[begin:]}/" if len(base) > begin else ""
            folders[:] = [one for one in folders if f"{inner}{one}" not in _OF_LEDGER]
            yield from (f"{inner}{one}" for one in names if not is_part(one))

    def _stamp(self, name: str) -> str:
        """Return what changes with the file, from what the file system knows of it; nothing for no file."""
        file = self._memory / name
        try:
            known = file.stat()
        except OSError:
            return ""
        if not stat.S_ISREG(known.st_mode):
            return ""
        if self._clock.now().timestamp() - known.st_mtime < _SETTLED_S:
            return hashlib.sha256(self._bytes(file) or b"").hexdigest()
        return f"{known.st_mtime_ns}-{known.st_ctime_ns}-{known.st_size}-{known.st_ino}"

    def _versions(self, path: str) -> tuple[Version, ...]:
        name, _ = self._locate(path)
        with _explained(name):
            return tuple(
                Version(path=name, version=found["version"], saved_at=_time(found["at"]).isoformat())
                for found in reversed(self._saved(name))
            )

    def _read_version(self, path: str, version: str) -> Document:
        name, file = self._locate(path)
        with _explained(name):
            for found in self._saved(name):
                if found["version"] == version:
                    return _document(name, self._bytes(self._history / name / found.string))
            current = _document(name, self._bytes(file))
        if current.version != version:
            raise DocumentError(f"document `{name}`: version `{version}` is not kept; `versions` lists those that are")
        return current

    def _save(self, name: str, data: bytes, version: str) -> None:
        """Keep a text that is about to be replaced, and drop the oldest of too many."""
        folder = self._history / name
        saved = self._saved(name)
        if saved and saved[-1]["version"] == version:
            return
        folder.mkdir(parents=True, exist_ok=True)
        at = self._clock.now().astimezone(UTC)
        if saved:  # names sort as the texts followed each other, whatever the clock says
            at = max(at, _time(saved[-1]["at"]) + timedelta(microseconds=1))
        write_atomically(self._files, folder / f"{at.strftime(_SAVED_AT)}-{version}", data)
        for old in saved[: max(0, len(saved) + 1 - KEPT_VERSIONS)]:
            self._files.unlink(folder / old.string)

    def _saved(self, name: str) -> tuple[re.Match[str], ...]:
        folder = self._history / name
        names = sorted(os.listdir(folder)) if folder.is_dir() else []  # noqa: PTH208 only the names are wanted
        return tuple(found for found in map(_SAVED.match, names) if found)

    def _bytes(self, file: Path) -> bytes | None:
        try:
            mode = file.stat().st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(mode):
            raise DocumentError(f"`{file}` is not a regular file")
        with self._files.open(file, "rb") as handle:
            return handle.read()

    def _locate(self, path: str) -> tuple[str, Path]:
        """Return the path in its plain form and the file that it names.

        Raises:
            ContractError: it is not a relative path with `/` that stays in the memory folder.
        """
        name = _plain(path)
        with _explained(name):
            file = self._resolved(self._memory / name)
        if file is None:
            raise ContractError(f"document path {path!r}: a link in it leaves `{self._memory}`")
        return name, file

    def _resolved(self, path: Path) -> Path | None:
        try:
            file = path.resolve()
        except RuntimeError:  # a link to itself
            return None
        return file if file.is_relative_to(self._memory.resolve()) and not file.is_symlink() else None

    def _is_document(self, path: Path) -> bool:
        file = self._resolved(path) if path.is_symlink() else path
        return file is not None and file.is_file()

    def _is_of_ledger(self, folder: Path) -> bool:
        return folder in {self._memory / one for one in _OF_LEDGER}

    def _sweep(self) -> None:
        if not self._swept:
            sweep(self._files, self._memory, lambda folder: not self._is_of_ledger(folder))
            sweep(self._files, self._history)
            self._swept = True


def _plain(path: str) -> str:
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise ContractError(f"document path {path!r}: give a path relative to memory, with `/` and without `..`")
    if any(is_part(part) for part in pure.parts):
        raise ContractError(f"document path {path!r}: such names belong to writes that are going on")
    return pure.as_posix()


def _document(name: str, data: bytes | None) -> Document:
    if data is None:
        return Document(path=name, text="", version=ABSENT)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"document `{name}` is not UTF-8 (byte {error.start}); convert it, or move it out of the memory folder"
        ) from error
    return Document(path=name, text=text, version=hashlib.sha256(data).hexdigest())


def _time(text: str) -> datetime:
    return datetime.strptime(text, _SAVED_AT).replace(tzinfo=UTC)


@contextmanager
def _explained(name: str) -> Generator[None, None, None]:
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        raise DocumentError(f"document `{name}`: {error}") from error
