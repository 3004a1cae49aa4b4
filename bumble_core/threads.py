"""Run plain functions in daemon threads, which may never return, and use a thread again while it is warm."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

_WARM_S = 0.5  # a model's next step is rarely sooner; a thread that waits longer than that only takes up room
_IDLE_NAME = "idle tool"

Work = Callable[[], None]


class Threads:
    """As many threads as functions run at once; one whose function never returns is just not used again.

    They hold up neither one another nor the end of the process. `name` is theirs while they work.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle: list[SimpleQueue[Work]] = []  # each is the only way to one waiting thread
        self._posts = weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Post]()

    async def run(self, function: Callable[[], T]) -> T:
        """Return what `function` returns; it sees the caller's context variables.

        When the caller is cancelled it runs on unheard. Whatever it raises is raised here.
        """
        loop = asyncio.get_running_loop()
        if (post := self._posts.get(loop)) is None:
            post = self._posts[loop] = _Post()
        done: asyncio.Future[Callable[[], T]] = loop.create_future()
        work = partial(_work, contextvars.copy_context(), function, partial(post.bring, loop, done))
        if self._idle:
            self._idle.pop().put(work)
        else:
            jobs: SimpleQueue[Work] = SimpleQueue()
            jobs.put(work)
            threading.Thread(target=self._serve, args=(jobs,), name=self._name, daemon=True).start()
        return (await done)()

    def _serve(self, jobs: SimpleQueue[Work]) -> None:
        thread = threading.current_thread()
        while True:
            try:
                work = jobs.get(timeout=_WARM_S)
            except Empty:
                try:
                    self._idle.remove(jobs)
                except ValueError:  # somebody took it in this very moment: the work is on its way
                    continue
                return
            thread.name = self._name
            work()
            del work  # else what it returned would live as long as the thread waits
            thread.name = _IDLE_NAME
            self._idle.append(jobs)


class _Post:
    """Brings outcomes from threads to one event loop; those that come close together wake it once."""

    def __init__(self) -> None:
        self._brought: deque[tuple[asyncio.Future[Any], Callable[[], Any]]] = deque()
        self._is_awaited = False

    def bring(self, loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], outcome: Callable[[], Any]) -> None:
        """Have `done` settled in its loop; where that is closed nobody waits."""
        self._brought.append((done, outcome))
        if not self._is_awaited:
            self._is_awaited = True
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        self._is_awaited = False  # before the first is taken, so that none is left behind
        while self._brought:
            done, outcome = self._brought.popleft()
            if not done.done():
                done.set_result(outcome)


def _work(
    context: contextvars.Context, function: Callable[[], object], bring: Callable[[Callable[[], object]], None]
) -> None:
    outcome: Callable[[], object]
    try:
        outcome = partial(_given, context.run(function))
    except BaseException as error:  # whatever it is, it is raised where the function was called
        outcome = partial(_raised, error)
    bring(outcome)


def _given(answer: T) -> T:
    return answer


def _raised(error: BaseException) -> NoReturn:
    raise error
