"""Limit each of many short waits without a timer for each."""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Self


class Patience:
    """Does for one wait after another what `asyncio.timeout` does for one, with a timer that is rarely touched.

        with patience.of(30.0):
            await something

    Raises `TimeoutError` where the wait took longer. One wait at a time; of any task of the running loop.
    """

    def __init__(self) -> None:
        self._seconds = math.inf
        self._due = math.inf
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._is_over = False
        self._timer: asyncio.TimerHandle | None = None

    def of(self, seconds: float) -> Self:
        """Limit the next wait to so many seconds."""
        self._seconds = seconds
        return self

    def close(self) -> None:
        """Give the timer back before it runs out."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a wait is limited inside a task")
        loop = task.get_loop()
        self._task, self._cancelling, self._is_over = task, task.cancelling(), False
        self._due = loop.time() + self._seconds
        if self._timer is None or self._timer.when() > self._due:
            self._set(loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if self._is_over and task is not None:
            is_ours = task.uncancel() <= self._cancelling
            if is_ours and kind is not None and issubclass(kind, asyncio.CancelledError):
                raise TimeoutError from error

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        self.close()
        self._timer = loop.call_at(self._due, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        if self._task is None:
            return
        if loop.time() < self._due:  # an earlier wait set the timer
            self._set(loop)
            return
        self._is_over = True
        self._task.cancel()
