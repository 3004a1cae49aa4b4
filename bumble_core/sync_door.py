"""One event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import functools
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

T = TypeVar("T")

_LONGEST_END_S = 5.0  # for a cancelled turn to be stored


class LoopThread:
    """Starts its thread at the first call and keeps it, so that connections outlive a call.

    `closing` runs on the loop when it is stopped. A program that ends without stopping it is stopped here before the
    interpreter goes, without `closing`, which may need threads that are gone by then: a daemon thread that is still
    building pydantic values crashes Python 3.11 (seen in 50 of 60 runs).
    """

    def __init__(self, closing: Callable[[], Coroutine[object, object, None]]) -> None:
        self._closing = closing
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ending: BaseException | None = None
        self._starting = threading.Lock()  # two threads may make the first call at once

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
        except concurrent.futures.CancelledError:
            ending, self._ending = self._ending, None
            if ending is not None:
                raise ending from None
            raise

    def stop(self) -> None:
        """Run `closing`, end what is left on the loop, and join the thread; calling it twice does no harm."""
        if self._loop is not None:
            try:
                self.run(self._closing())
            finally:
                self._leave()

    def _leave(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        atexit.unregister(self._leave)
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                work = functools.partial(self._work, self._loop)
                self._thread = threading.Thread(target=work, name="bumble-loop", daemon=True)
                self._thread.start()
                atexit.register(self._leave)
            return self._loop

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop until it is stopped; what is meant to end the program ends what runs and is raised by `run`."""
        while True:
            try:
                loop.run_forever()
            except (SystemExit, KeyboardInterrupt) as error:
                self._ending = error
                loop.create_task(_cancel_all())
            else:
                return


async def _noted(work: Coroutine[object, object, T], ended: threading.Event) -> T:
    try:
        return await work
    finally:
        ended.set()


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_LONGEST_END_S)
