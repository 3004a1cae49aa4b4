"""Wake whoever waits for something to happen."""

from __future__ import annotations

import asyncio


class Bell:
    """Rung as often as one likes; the one who waits wakes once and sees all that has happened by then."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    @property
    def is_rung(self) -> bool:
        return self._rung.is_set()

    def ring(self) -> None:
        self._rung.set()

    def hush(self) -> None:
        self._rung.clear()

    async def wait(self) -> None:
        await self._rung.wait()
