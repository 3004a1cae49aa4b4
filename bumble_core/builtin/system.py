"""The machine's own clock and files."""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal


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
        return path.open(mode)

    def write(self, handle: BinaryIO, data: bytes) -> None:
        handle.write(data)

    def fsync(self, handle: BinaryIO) -> None:
        handle.flush()
        os.fsync(handle.fileno())

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def unlink(self, path: Path) -> None:
        path.unlink()
