"""One SQLite connection in a thread of its own, so that the event loop never waits for a disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from ..errors import HomeError, RunError

_BUSY_S = 30.0

P = ParamSpec("P")
T = TypeVar("T")


class Database:
    """Runs functions on the connection, one after the other; `prepare` gets each new connection first.

    The file is opened at the first `run`, and again at a `run` after `aclose`.
    """

    def __init__(self, path: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self._path = path
        self._prepare = prepare
        self._thread: _Thread | None = None

    async def run(
        self, function: Callable[Concatenate[sqlite3.Connection, P], T], /, *args: P.args, **named: P.kwargs
    ) -> T:
        """Return what `function(connection, …)` returns.

        Raises:
            HomeError: the file cannot be opened, or is not a database of ours.
            RunError: SQLite failed: the disk is full, another process held the file too long.
        """
        if self._thread is None:
            self._thread = _Thread(self._path, self._prepare)
        thread = self._thread
        return await asyncio.get_running_loop().run_in_executor(
            thread.executor, lambda: thread.call(lambda connection: function(connection, *args, **named))
        )

    async def aclose(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread.executor, thread.close)
            thread.executor.shutdown(wait=False)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Make what happens inside durable as a whole, or undo it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Generator[None, None, None]:
    """Let all that is read inside be of one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.rollback()


class _Thread:
    """A connection with the only thread that may touch it."""

    def __init__(self, path: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self.executor = ThreadPoolExecutor(1, thread_name_prefix=path.name)
        self._path = path
        self._prepare = prepare
        self._connection: sqlite3.Connection | None = None

    def call(self, function: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._connection or self._open()
        try:
            return function(connection)
        except (sqlite3.Error, UnicodeError) as error:
            raise RunError(f"`{self._path}`: {error}") from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _open(self) -> sqlite3.Connection:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=_BUSY_S, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise HomeError(f"`{self._path}` cannot be opened: {error}") from error
        try:
            self._prepare(connection)
        except sqlite3.Error as error:
            connection.close()
            remedy = "if the file is damaged, move it away or put a copy in its place"
            raise HomeError(f"`{self._path}` cannot be used: {error}; {remedy}") from error
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection
