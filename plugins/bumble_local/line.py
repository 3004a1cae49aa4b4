"""Run blocking jobs one after the other, in a thread that is there only while there are any."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future


class Line:
    """Jobs in the order they came, one at a time.

    An executor would do, but the interpreter waits for its threads before anything can tell that it is ending. It
    waits for the thread of a line too, but `is_ending` is true by then, so that a long job can stop by itself.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: deque[tuple[Future[None], Callable[[], None]]] = deque()
        self._is_running = False
        self._lock = threading.Lock()  # guards the two above, between the line's thread and everybody else

    def submit(self, job: Callable[[], None]) -> Future[None]:
        """Put `job` at the end of the line; cancelling the future takes it out unless it has begun."""
        future: Future[None] = Future()
        with self._lock:
            self._jobs.append((future, job))
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name=self._name, daemon=False).start()
        return future

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._is_running = False
                    return
                future, job = self._jobs.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                job()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(None)


def is_ending() -> bool:
    """True once the interpreter has nothing left to do but wait for threads."""
    return not threading.main_thread().is_alive()
