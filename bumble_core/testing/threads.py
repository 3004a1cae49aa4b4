"""Event loops in threads of their own, so that a test asks a server that does not share its loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .stub_server import Replies, StubServer

T = TypeVar("T")

_TIMEOUT_S = 60.0
_WAIT_S = 10.0
_TICK_S = 0.005


class LoopThread:
    """One running event loop; `run` gives what a coroutine returns there."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop of a test", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_TIMEOUT_S)

    def close(self) -> None:
        self.run(asyncio.sleep(0.05))  # what was handed to the loop a moment ago is done first
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def loop_thread() -> Iterator[LoopThread]:
    """Give a loop that runs beside the test."""
    thread = LoopThread()
    try:
        yield thread
    finally:
        thread.close()


@contextmanager
def serving(replies: Replies) -> Iterator[StubServer]:
    """Give a stub server that runs beside the test.

    Raises:
        AssertionError: a request breaks a law; see `StubServer`.
    """
    with loop_thread() as thread:
        stub = StubServer(replies)
        thread.run(stub.__aenter__())
        try:
            yield stub
        except BaseException as error:
            thread.run(stub.__aexit__(type(error), error, None))
            raise
        thread.run(stub.__aexit__(None, None, None))


async def until(fact: Callable[[], object]) -> None:
    """Wait until `fact` says something true.

    Raises:
        AssertionError: it did not within ten seconds.
    """
    assert await asyncio.to_thread(_waited, fact), f"nothing happened within {_WAIT_S:g} s"


def unused_url() -> str:
    """Return an address of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def _waited(fact: Callable[[], object]) -> bool:
    pause = threading.Event()
    for _ in range(int(_WAIT_S / _TICK_S)):
        if fact():
            return True
        pause.wait(_TICK_S)
    return False
