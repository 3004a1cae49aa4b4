"""The machine's own clock and files."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal

from ..deferred import Deferred
from ..regular import open_regular

_exchange = Deferred("bumble_core.builtin.exchange:exchange")


class SystemClock:
    """Fills the `Clock` port with the time of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SystemFiles:
    """Fills the `Files` port with the file system."""

    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        return open(path, mode, opener=open_regular)

    def write(self, handle: BinaryIO, data: bytes) -> None:
        handle.write(data)

    def fsync(self, handle: BinaryIO) -> None:
        handle.flush()
        os.fsync(handle.fileno())

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)
        _sync(target.parent)

    def swap(self, source: Path, target: Path) -> bool:
        if not _exchange(source, target):
            return False
        _sync(target.parent)
        return True

    def put(self, source: Path, target: Path) -> None:
        os.link(source, target)
        source.unlink()
        _sync(target.parent)

    def unlink(self, path: Path) -> None:
        path.unlink()


def _sync(folder: Path) -> None:
    """Make what was renamed in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
