"""Keep the views of the sessions used last in memory, so that a turn reads only what is new.

Messages keep their identity from turn to turn, and with it all that is remembered of each. A view is read afresh once
another process wrote to the file, or a compaction gave it another base; messages that are as they were stay the same
objects even then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

import structlog

from ..history import GrowingHistory
from ..types.messages import Message
from ..types.sessions import Session
from .database import snapshot
from .session_view import read_base, read_rows, rows_after

log = structlog.get_logger(__name__)

_MOST_MESSAGES = 20_000  # of all views together, some 40 MB of short messages


@dataclass(slots=True)
class _Kept:
    """One view: its messages by the position of their rows, the last of which is `position`."""

    version: int
    base_end: int
    position: int
    history: GrowingHistory = field(default_factory=GrowingHistory)
    known: dict[str, Message] = field(default_factory=dict)

    def add(self, messages: Iterable[Message], position: int) -> None:
        added = tuple(messages)
        self.history.add(added)
        self.known.update((message.id, message) for message in added)
        self.position = position


class KeptViews:
    """For the thread that the connection belongs to, and for one connection: `clear` when there is another.

    Beyond `most_messages` the views that were not used for longest are dropped; the one used last stays in any case.
    """

    def __init__(self, most_messages: int = _MOST_MESSAGES) -> None:
        self._most_messages = most_messages
        self._kept: dict[str, _Kept] = {}

    def clear(self) -> None:
        self._kept.clear()

    def forget(self, session_id: str) -> None:
        self._kept.pop(session_id, None)

    def note(self, session_id: str, messages: Iterable[Message]) -> None:
        """Take messages that were written to a session: their rows need not be made into messages again."""
        if (kept := self._kept.get(session_id)) is not None:
            kept.known.update((message.id, message) for message in messages)

    def resume(self, connection: sqlite3.Connection, session_id: str) -> Session:
        """Return the view and the number of finished turns; a session that is not known is empty."""
        with snapshot(connection):
            row = connection.execute("SELECT view_after FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if row is None:
                self.forget(session_id)
                return Session(id=session_id)
            kept = self._current(connection, session_id, int(row[0]))
            count, is_open = _counts(connection, session_id)
        view, problems = kept.history.repaired()
        if problems:
            log.warning("session.repaired", session_id=session_id, problems=problems)
        if not is_open:  # messages of an open turn may still be replaced
            self._keep(session_id, kept)
        return Session(id=session_id, view=view, turn_count=count)

    def _current(self, connection: sqlite3.Connection, session_id: str, base_end: int) -> _Kept:
        """Return the view up to now, taken out of what is kept."""
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        former = self._kept.pop(session_id, None)
        known = former.known if former is not None else {}
        if former is not None and (former.version, former.base_end) == (version, base_end):
            kept = former
        else:
            kept = _Kept(version, base_end, base_end)
            kept.add(read_base(connection, session_id, known), base_end)
        rows = rows_after(connection, session_id, kept.position)
        kept.add(read_rows(rows, known).values(), rows[-1][0] if rows else kept.position)
        return kept

    def _keep(self, session_id: str, kept: _Kept) -> None:
        self._kept[session_id] = kept
        total = sum(len(each.known) for each in self._kept.values())
        while total > self._most_messages and len(self._kept) > 1:
            total -= len(self._kept.pop(next(iter(self._kept))).known)


def _counts(connection: sqlite3.Connection, session_id: str) -> tuple[int, bool]:
    """Return the number of finished turns and whether one is open; both questions are answered by indexes alone."""
    every, unfinished = connection.execute(
        "SELECT (SELECT count(*) FROM turns WHERE session_id = ?1), "
        "(SELECT count(*) FROM turns WHERE session_id = ?1 AND number IS NULL)",
        (session_id,),
    ).fetchone()
    return every - unfinished, unfinished > 0
