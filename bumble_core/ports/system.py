"""Where time and files come from: the only doors to the machine."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """The only source of time. `now` is aware and UTC; `monotonic` is in seconds and never goes back."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


@runtime_checkable
class Files(Protocol):
    """The only way to change files of the home; a test replaces it to fail at any of these moments.

    Modes: `rb` reads, `xb` creates and fails when the file exists, `ab` appends. All methods block: call them in a
    thread.
    """

    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO: ...
    def write(self, handle: BinaryIO, data: bytes) -> None: ...
    def fsync(self, handle: BinaryIO) -> None: ...
    def replace(self, source: Path, target: Path) -> None:
        """Rename over `target` and make the rename itself durable."""

    def unlink(self, path: Path) -> None: ...


@runtime_checkable
class Swapping(Protocol):
    """Files that can also put one in another's place and keep the other, so that nobody's write is lost unseen.

    `swap` exchanges two files that are there, in one step and durably; it returns False, having done nothing, where
    the file system cannot. `put` renames to where nothing is, and raises `FileExistsError` where something is.
    """

    def swap(self, source: Path, target: Path) -> bool: ...
    def put(self, source: Path, target: Path) -> None: ...
