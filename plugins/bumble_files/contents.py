"""Read and replace the bytes of one file of the workspace."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from .workspace import FILE, FOLDER, Place, status_at

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BEGINS, _ENDS = ".bumble-", ".tmp"  # of a file that is being written
_MOST_SWEPT = 10_000  # entries of a folder that are looked at for such files
_CHUNK = 1 << 20

WriteBytes = Callable[[int, memoryview], int]


class ChangedMeanwhile(OSError):
    """Somebody else put another file there since it was read."""

    def __init__(self) -> None:
        super().__init__("the file was changed by somebody else meanwhile; read it again")


def read_at(folder: int, name: str, limit: int) -> tuple[bytes, os.stat_result]:
    """Return the first `limit` bytes of a regular file in an open folder, and what is known of the file.

    Anything but a regular file is refused before it is opened, and once more by what was opened.
    """
    before = status_at(folder, name)
    if before is None or not stat.S_ISREG(before.st_mode):
        raise ChangedMeanwhile
    handle = os.open(name, FILE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ChangedMeanwhile
        pieces: list[bytes] = []
        while limit > 0 and (piece := os.read(handle, min(limit, _CHUNK))):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces), status
    finally:
        os.close(handle)


def replace_at(place: Place, data: bytes, seen: os.stat_result | None, write: WriteBytes = os.write) -> None:
    """Put `data` in the place of a file, all of it or nothing, with the mode of the file that was there.

    The bytes go to a new file beside it, to the disk, and then take the name. `seen` is what was read before; with
    None, whatever stands there is replaced. A failure leaves the old file and nothing else; a process that is killed
    may leave its new file, which the next write to the folder removes.
    """
    _sweep(place.folder)
    temporary, handle = _new_file(place.folder)
    try:
        try:
            _write_all(handle, data, write)
            if place.status is not None:
                os.fchmod(handle, place.status.st_mode & 0o777)
            os.fsync(handle)
            if seen is not None and not _same(seen, status_at(place.folder, place.name)):
                raise ChangedMeanwhile
            os.replace(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        finally:
            os.close(handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.folder)
        raise
    _sync_folder(place.folder)


def _new_file(folder: int) -> tuple[str, int]:
    """Make a file that is locked as long as it is written to: the lock ends with the process."""
    while True:
        name = f"{_BEGINS}{secrets.token_hex(8)}{_ENDS}"
        handle = os.open(name, _NEW_FILE, 0o666, dir_fd=folder)
        with suppress(OSError):  # not every file system has locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:  # else it was swept away before it was locked
            return name, handle
        os.close(handle)


def _sweep(folder: int) -> None:
    """Remove the new files of writers that are no more."""
    with os.scandir(folder) as entries:
        names = [entry.name for entry in islice(entries, _MOST_SWEPT)]
    for name in names:
        if name.startswith(_BEGINS) and name.endswith(_ENDS):
            with suppress(OSError):
                _remove_unlocked(folder, name)


def _remove_unlocked(folder: int, name: str) -> None:
    handle = os.open(name, FILE, dir_fd=folder)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes, write: WriteBytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[write(handle, rest) :]


def _same(seen: os.stat_result, now: os.stat_result | None) -> bool:
    return now is not None and _version(seen) == _version(now)


def _version(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _sync_folder(folder: int) -> None:
    handle = os.open(".", FOLDER, dir_fd=folder)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
