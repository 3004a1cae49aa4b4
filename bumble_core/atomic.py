"""Replace a file as a whole: a reader sees the old bytes or the new ones, and so does the next start after a crash."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .ports import Files

PART_SUFFIX = ".bumble-part"  # a file with this ending is a write that is going on, or one that was killed


def write_atomically(files: Files, path: Path, data: bytes) -> None:
    """Give `path` the bytes `data`, durably; it keeps the mode it has.

    When anything raises, `path` is as it was and no temporary file is left. A killed process may leave one: writers
    of a folder hold a lock, and `sweep` under the same lock removes what is left.
    """
    part = path.with_name(f".{uuid.uuid4().hex}{PART_SUFFIX}")
    try:
        with files.open(part, "xb") as handle:
            files.write(handle, data)
            files.fsync(handle)
        with suppress(FileNotFoundError):
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        files.replace(part, path)
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
