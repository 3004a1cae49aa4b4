"""The agent's memory as plain text files under `home/memory/`, with earlier texts under `home/history/`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..atomic import is_part, sweep, write_in_place_of
from ..errors import ContractError, DocumentError, VersionConflict
from ..merging import merged
from ..ports import Clock, Files
from ..types.documents import ABSENT, Document, Version
from .document_paths import explained, locate, plain, read_regular, resolved
from .kept_versions import KeptVersions, time_of
from .leases import Leases

_OF_LEDGER = ("cognition/jobs", "cognition/open", "cognition/runs")  # written by the job ledger, under its own lock
_FRESH_S = 0.2  # an editor that has just touched a file may not be done
_EDITOR_S = 0.02  # for an editor to end the write that it is in
_TRIES = 10
_SETTLED_S = 2.0  # within a tick of a file system's clock two writes can look alike; what is younger is read


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What a write has done; `displaced` is what stood in its place, where somebody may still be writing into it."""

    document: Document
    before: str
    displaced: Path | None


class FileDocuments:
    """Fills the `Documents` port. Texts are UTF-8 and written as given: line endings and a byte order mark stay.

    Raises:
        DocumentError: a file is not UTF-8, not a regular file, or the disk refuses.
    """

    def __init__(self, home: Path, files: Files, clock: Clock) -> None:
        self._memory = home / "memory"
        self._kept = KeptVersions(home / "history", files, clock)
        self._files = files
        self._clock = clock
        self._leases = Leases(home, clock)
        self._swept = False
        self._own: dict[str, str] = {}  # the versions that were last written here, by document

    async def read(self, path: str) -> Document:
        return await asyncio.to_thread(self._read, path)

    async def write(self, path: str, text: str, expected: str) -> Document:
        """Replace a text; an edit that came between the comparison and the swap is merged into what is returned."""
        written = await asyncio.to_thread(self._write, path, text, expected)
        if written.displaced is None:
            return written.document
        await self._clock.sleep(_EDITOR_S)
        edited = await asyncio.to_thread(self._edited, written)
        return written.document if edited is None else await self._with_edit(written, edited)

    async def _with_edit(self, written: _Written, edited: str) -> Document:
        """Bring the new text together with the edit that it displaced, and with what was written since."""
        text = merged(written.before, edited, written.document.text)
        for _ in range(_TRIES):
            now = await self.read(written.document.path)
            try:
                return await self.write(now.path, merged(written.document.text, now.text, text), now.version)
            except VersionConflict:
                continue
        return await self.read(written.document.path)  # the edit is among the versions

    async def list(self, folder: str = "") -> tuple[str, ...]:
        """Return the paths of all documents below `folder`; the job ledger's only when it names their folder."""
        return await asyncio.to_thread(self._list, folder)

    async def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        return await asyncio.to_thread(self._stamps, paths)

    async def tidy(self) -> None:
        await asyncio.to_thread(self._tidy)

    async def versions(self, path: str) -> tuple[Version, ...]:
        """Return the earlier texts that are kept, the newest first."""
        return await asyncio.to_thread(self._versions, path)

    async def read_version(self, path: str, version: str) -> Document:
        return await asyncio.to_thread(self._read_version, path, version)

    def _read(self, path: str) -> Document:
        name, file = locate(self._memory, path)
        with explained(name):
            return _document(name, self._bytes(file))

    def _write(self, path: str, text: str, expected: str) -> _Written:
        name, file = locate(self._memory, path)
        if any(file.is_relative_to(self._memory.resolve() / folder) for folder in _OF_LEDGER):
            raise ContractError(f"document `{name}`: the job ledger keeps this folder; write somewhere else")
        with explained(name), self._leases.writing("documents"):
            self._sweep()
            before = self._bytes(file)
            found = _document(name, before)
            if found.version != expected:
                raise VersionConflict(
                    f"document `{name}`: expected version `{expected}`, found `{found.version}`; read it again"
                )
            data = text.encode()
            document = _document(name, data)
            displaced = None if data == before else self._replace(file, before, data, found)
            self._own[name] = document.version
            return _Written(document=document, before=found.text, displaced=displaced)

    def _replace(self, file: Path, before: bytes | None, data: bytes, found: Document) -> Path | None:
        """Write over a file; return where the displaced one is kept, if somebody may have edited it meanwhile."""
        if before is not None:
            self._kept.save(found.path, before, found.version)
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            part = write_in_place_of(self._files, file, data, is_there=before is not None)
        except FileExistsError as error:
            raise VersionConflict(f"document `{found.path}`: it was created meanwhile; read it again") from error
        if part is None:
            return None
        is_own = self._own.get(found.path) == found.version
        is_fresh = abs(file.stat().st_mtime - part.stat().st_mtime) < _FRESH_S
        displaced = self._bytes(part)
        if displaced == before and (is_own or not is_fresh):
            self._files.unlink(part)
            return None
        return self._kept.take(found.path, part, displaced or b"")

    def _edited(self, written: _Written) -> str | None:
        """Return what an editor left in the file that was displaced; None where it left nothing new that is text."""
        if written.displaced is None:
            return None
        name = written.document.path
        with explained(name), self._leases.writing("documents"):
            data = self._bytes(written.displaced) or b""
            if not written.displaced.name.endswith(_version(data)):
                self._kept.take(name, written.displaced, data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        return None if text == written.before else text

    def _list(self, folder: str) -> tuple[str, ...]:
        name, root = locate(self._memory, folder) if folder else ("", self._memory)
        found: set[PurePosixPath] = set()
        with explained(name):
            for base, folders, names in os.walk(root):
                folders[:] = [one for one in folders if not self._is_of_ledger(Path(base, one))]
                paths = (Path(base, one) for one in names if not is_part(one))
                found |= {PurePosixPath(name, path.relative_to(root)) for path in paths if self._is_document(path)}
        return tuple(sorted(path.as_posix() for path in found))

    def _stamps(self, paths: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in paths:
            name = plain(path) if path else ""
            with explained(name):
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
        name, _ = locate(self._memory, path)
        with explained(name):
            return tuple(
                Version(path=name, version=found["version"], saved_at=time_of(found).isoformat())
                for found in reversed(self._kept.saved(name))
            )

    def _read_version(self, path: str, version: str) -> Document:
        name, file = locate(self._memory, path)
        with explained(name):
            for found in self._kept.saved(name):
                if found["version"] == version:
                    return _document(name, self._bytes(self._kept.path(name, found)))
            current = _document(name, self._bytes(file))
        if current.version != version:
            raise DocumentError(f"document `{name}`: version `{version}` is not kept; `versions` lists those that are")
        return current

    def _bytes(self, file: Path) -> bytes | None:
        return read_regular(self._files, file)

    def _is_document(self, path: Path) -> bool:
        file = resolved(self._memory, path) if path.is_symlink() else path
        return file is not None and file.is_file()

    def _is_of_ledger(self, folder: Path) -> bool:
        return folder in {self._memory / one for one in _OF_LEDGER}

    def _tidy(self) -> None:
        if self._memory.is_dir():
            with explained(""), self._leases.writing("documents"):
                self._sweep()

    def _sweep(self) -> None:
        if not self._swept:
            sweep(self._files, self._memory, lambda folder: not self._is_of_ledger(folder))
            self._kept.sweep()
            self._swept = True


def _document(name: str, data: bytes | None) -> Document:
    if data is None:
        return Document(path=name, text="", version=ABSENT)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"document `{name}` is not UTF-8 (byte {error.start}); convert it, or move it out of the memory folder"
        ) from error
    return Document(path=name, text=text, version=_version(data))


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
