"""Leases by name: one holder at a time on a home, in this process or another.

A lease is an operating system's lock on a file, so a process that dies gives up what it held. Lock files stay where
they are: removing one would let two holders lock two files of the same name.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ..errors import RunError
from ..ports import Clock

_POLL_S = 0.02
_LONGEST_WRITE_S = 30.0


class Leases:
    """Locks under `home/locks/`; making one touches nothing. Names may be any text.

    Raises:
        RunError: the folder or a file in it cannot be used.
    """

    def __init__(self, home: Path, clock: Clock) -> None:
        self._folder = home / "locks"
        self._clock = clock
        self._queues: dict[str, deque[object]] = {}
        self._held: set[str] = set()

    def holds(self, name: str) -> bool:
        """Tell whether this object has given out the lease `name`."""
        return name in self._held

    @asynccontextmanager
    async def hold(self, name: str, wait_s: float = 0.0) -> AsyncGenerator[bool, None]:
        """Hold the lease `name`, or get False when it was not free within `wait_s`.

        Those who wait in this process are served in the order they came.
        """
        lock = self._lock(name)
        if not await self._acquire(name, lock, wait_s):
            yield False
            return
        self._held.add(name)
        try:
            yield True
        finally:
            self._held.discard(name)
            lock.release()

    @contextmanager
    def attempt(self, name: str) -> Generator[bool, None, None]:
        """Hold the lease `name` if it is free now; for code in a thread."""
        lock = self._lock(name)
        got = _try(lock)
        try:
            yield got
        finally:
            if got:
                lock.release()

    @contextmanager
    def writing(self, name: str) -> Generator[None, None, None]:
        """Hold a lock for the moment of a write, waiting for other writers; for code in a thread.

        Raises:
            RunError: another process has held it for half a minute.
        """
        lock = self._lock(name)
        try:
            with _usable(lock.lock_file):
                lock.acquire(timeout=_LONGEST_WRITE_S)
        except Timeout as error:
            message = f"`{lock.lock_file}` has been locked for {_LONGEST_WRITE_S:g} s; is another process hanging?"
            raise RunError(message) from error
        try:
            yield
        finally:
            lock.release()

    async def _acquire(self, name: str, lock: FileLock, wait_s: float) -> bool:
        # An attempt never waits, so it runs on the loop: in a thread, a cancel could leave a lock that nobody knows of.
        deadline = self._clock.monotonic() + wait_s
        ticket = object()
        queue = self._queues.setdefault(name, deque())
        queue.append(ticket)
        try:
            while not (queue[0] is ticket and _try(lock)):
                left = deadline - self._clock.monotonic()
                if left <= 0:
                    return False
                await self._clock.sleep(min(_POLL_S, left))
            return True
        finally:
            queue.remove(ticket)
            if not queue:
                self._queues.pop(name, None)

    def _lock(self, name: str) -> FileLock:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        with _usable(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self._folder / f"{name.partition(':')[0]}-{digest}.lock", thread_local=False)


def _try(lock: FileLock) -> bool:
    with suppress(Timeout), _usable(lock.lock_file):
        lock.acquire(blocking=False)
        return True
    return False


@contextmanager
def _usable(path: Path | str) -> Generator[None, None, None]:
    """Turn what the system refuses into an error with a remedy; a lock that is taken is none."""
    try:
        yield
    except Timeout:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"nothing can be locked with `{path}`: {reason}; move it away, or choose another home with `--home`"
        raise RunError(message) from error
