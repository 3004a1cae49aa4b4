"""Close the stream of a stranger without waiting for it for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import structlog

from .contract import FAULTS

log = structlog.get_logger(__name__)

T = TypeVar("T")

_LONGEST_S = 1.0  # to close a connection takes a hundredth of that; the turn waits meanwhile


@asynccontextmanager
async def closing(stream: AsyncGenerator[T, None], whose: str) -> AsyncIterator[AsyncGenerator[T, None]]:
    """Close the stream at the end, as `aclosing` does; one that lingers or fails then is told in the log alone."""
    try:
        yield stream
    finally:
        try:
            async with asyncio.timeout(_LONGEST_S):
                await stream.aclose()
        except FAULTS as error:
            log.warning("stream.close_failed", whose=whose, error=repr(error))
