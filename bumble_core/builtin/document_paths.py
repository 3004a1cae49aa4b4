"""From the path of a document to its file, and no further than the memory folder."""

from __future__ import annotations

import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ..atomic import is_part
from ..errors import ContractError, DocumentError
from ..ports import Files


def locate(memory: Path, path: str) -> tuple[str, Path]:
    """Return the path in its plain form and the file that it names.

    Raises:
        ContractError: it is not a relative path with `/` that stays in the memory folder.
    """
    name = plain(path)
    with explained(name):
        file = resolved(memory, memory / name)
    if file is None:
        raise ContractError(f"document path {path!r}: a link in it leaves `{memory}`")
    return name, file


def plain(path: str) -> str:
    """Return the path in its plain form.

    Raises:
        ContractError: it is not a relative path with `/`, or one that only writes use.
    """
    pure = PurePosixPath(path)
    if not pure.parts or pure.is_absolute() or ".." in pure.parts or "\\" in path or "\0" in path:
        raise ContractError(f"document path {path!r}: give a path relative to memory, with `/` and without `..`")
    if any(is_part(part) for part in pure.parts):
        raise ContractError(f"document path {path!r}: such names belong to writes that are going on")
    return pure.as_posix()


def resolved(memory: Path, path: Path) -> Path | None:
    """Return the file that a path leads to; None where it leads out of the memory folder."""
    try:
        file = path.resolve()
    except RuntimeError:  # a link to itself
        return None
    return file if file.is_relative_to(memory.resolve()) and not file.is_symlink() else None


def read_regular(files: Files, file: Path) -> bytes | None:
    """Return what a file holds; None where there is none.

    Raises:
        DocumentError: it is a folder, a pipe or a device.
    """
    try:
        mode = file.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise DocumentError(f"`{file}` is not a regular file")
    with files.open(file, "rb") as handle:
        return handle.read()


@contextmanager
def explained(name: str) -> Generator[None, None, None]:
    """Say which document it was that the disk refused.

    Raises:
        DocumentError: in place of what the system raised.
    """
    try:
        yield
    except (OSError, UnicodeEncodeError) as error:
        raise DocumentError(f"document `{name}`: {error}") from error
