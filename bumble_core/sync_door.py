"""One event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")

_LONGEST_END_S = 5.0  # for a cancelled turn to be stored


class LoopThread:
    """Starts its thread at the first call and keeps it, so that connections outlive a call."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()  # two threads may make the first call at once

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run `work` on the loop and wait for it. Ctrl-C cancels it and waits until it has ended, but not for ever."""
        ended = threading.Event()
        future = asyncio.run_coroutine_threadsafe(_noted(work, ended), self._started())
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            ended.wait(_LONGEST_END_S)
            raise

    def stop(self) -> None:
        """Stop the loop and its thread; calling it twice does no harm."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="bumble-loop", daemon=True)
                self._thread.start()
            return self._loop


async def _noted(work: Coroutine[object, object, T], ended: threading.Event) -> T:
    try:
        return await work
    finally:
        ended.set()
