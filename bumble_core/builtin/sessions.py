"""Conversations in one SQLite file: a log that never shrinks and a view that may."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from ..errors import SessionBusy
from ..ports import Clock
from ..types.messages import Message
from ..types.sessions import Hit, Session, SessionInfo
from ..types.turn import Turn, TurnInput
from . import session_log, session_schema, session_search, session_view
from .database import Database
from .kept_views import KeptViews
from .leases import Leases

log = structlog.get_logger(__name__)


class SqliteSessions:
    """Fills the `Sessions` port with `sessions.sqlite3` in the home. Making one touches nothing.

    Data that another version wrote is read without the keys that this one does not know; a turn or a message that
    cannot be read even so is passed over with a warning and stays in the file.
    """

    def __init__(self, home: Path, clock: Clock) -> None:
        self._clock = clock
        self._leases = Leases(home, clock)
        self._views = KeptViews()
        self._database = Database(home / "sessions.sqlite3", self._prepare)

    @asynccontextmanager
    async def open(self, session_id: str, wait_s: float) -> AsyncGenerator[None, None]:
        async with self._leases.hold(_lease(session_id), wait_s) as held:
            if not held:
                raise SessionBusy(
                    f"session `{session_id}`: another turn holds it, also after {wait_s:g} s; "
                    "wait for that turn, cancel it or use another session"
                )
            await self._database.run(self._interrupt, session_id)
            yield

    async def resume(self, session_id: str) -> Session:
        return await self._database.run(self._views.resume, session_id)

    async def begin(self, input: TurnInput) -> None:
        await self._database.run(session_log.begin, input)

    async def append(self, turn_id: str, *messages: Message) -> None:
        await self._database.run(session_log.append, turn_id, messages, self._clock.now())

    async def finish(self, turn: Turn, view: tuple[Message, ...] | None) -> Turn:
        return await self._database.run(self._finish, turn, view)

    async def turns(self, after: int = 0, session_id: str | None = None, limit: int | None = None) -> tuple[Turn, ...]:
        return await self._database.run(session_view.turns, after, session_id, limit)

    async def count(self, after: int = 0) -> int:
        return await self._database.run(session_view.count, after)

    async def search(self, text: str, session_id: str | None = None, limit: int = 20) -> tuple[Hit, ...]:
        return await self._database.run(session_search.search, text, session_id, limit)

    async def list(self) -> tuple[SessionInfo, ...]:
        return await self._database.run(session_view.sessions)

    async def originals(self, session_id: str, ids: Collection[str]) -> dict[str, Message]:
        """Return messages as they were before compaction shortened them, by id; unknown ids are left out."""
        return await self._database.run(session_view.originals, session_id, ids)

    async def restore(self, session_id: str, turns: tuple[Turn, ...]) -> None:
        await self._database.run(session_log.restore, session_id, turns)

    async def delete(self, session_id: str) -> int:
        """Remove a session and return the number of its turns.

        Raises:
            SessionBusy: somebody else runs a turn in it.
        """
        if self._leases.holds(_lease(session_id)):
            return await self._database.run(self._delete, session_id)
        async with self.open(session_id, 0.0):
            return await self._database.run(self._delete, session_id)

    async def aclose(self) -> None:
        """Close the file; a later call opens it again."""
        await self._database.aclose()

    def _finish(self, connection: sqlite3.Connection, turn: Turn, view: tuple[Message, ...] | None) -> Turn:
        closed = session_log.finish(connection, turn, view, self._clock.now())
        self._views.note(closed.session_id, (*(view or ()), *turn.messages))
        return closed

    def _delete(self, connection: sqlite3.Connection, session_id: str) -> int:
        self._views.forget(session_id)
        return session_log.delete(connection, session_id)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._views.clear()
        with self._leases.writing("sessions-schema"):
            session_schema.prepare(connection)
        for session_id in session_view.with_open_turns(connection):
            with self._leases.attempt(_lease(session_id)) as free:
                if free:
                    self._interrupt(connection, session_id)

    def _interrupt(self, connection: sqlite3.Connection, session_id: str) -> None:
        for turn_id in session_log.interrupt(connection, session_id, self._clock.now()):
            log.warning("session.turn_interrupted", session_id=session_id, turn_id=turn_id)


def _lease(session_id: str) -> str:
    return f"session:{session_id}"
