"""Replace a file as a whole: a reader sees the old bytes or the new ones, and so does the next start after a crash."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .ports import Files, Swapping

PART_SUFFIX = ".bumble-part"  # a file with this ending is a write that is going on, or one that was killed


def write_atomically(files: Files, path: Path, data: bytes) -> None:
    """Give `path` the bytes `data`, durably; it keeps the mode it has.

    When anything raises, `path` is as it was and no temporary file is left. A killed process may leave one: writers
    of a folder hold a lock, and `sweep` under the same lock removes what is left.
    """
    with _part(files, path, data) as part:
        files.replace(part, path)


def write_in_place_of(files: Files, path: Path, data: bytes, *, is_there: bool) -> Path | None:
    """As `write_atomically`, and return the file that was displaced, for whoever looks what it holds.

    `is_there` is what the writer believes. None: there was nothing, or the system cannot tell.

    Raises:
        FileExistsError: there is something where nothing was believed to be.
    """
    with _part(files, path, data) as part:
        if not isinstance(files, Swapping):
            files.replace(part, path)
        elif not is_there:
            files.put(part, path)
        elif files.swap(part, path):
            return part
        else:
            files.replace(part, path)
    return None


@contextmanager
def _part(files: Files, path: Path, data: bytes) -> Generator[Path, None, None]:
    """Give a temporary file beside `path` that holds `data`, durably; removed when what is done with it raises."""
    part = path.with_name(f".{uuid.uuid4().hex}{PART_SUFFIX}")
    try:
        with files.open(part, "xb") as handle:
            files.write(handle, data)
            files.fsync(handle)
        with suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        yield part
    except BaseException:
        with suppress(OSError):
            files.unlink(part)
        raise


def sweep(files: Files, folder: Path, enter: Callable[[Path], bool] = lambda _: True) -> tuple[Path, ...]:
    """Remove the temporary files that killed processes left under `folder`, and return their paths.

    Folders for which `enter` is False are left alone. The caller holds the lock under which files there are written.
    """
    swept = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if enter(Path(root, name))]
        swept += [Path(root, name) for name in names if is_part(name)]
    for path in swept:
        files.unlink(path)
    return tuple(swept)


def is_part(name: str) -> bool:
    return name.startswith(".") and name.endswith(PART_SUFFIX)
