"""Read what is kept of sessions: views, turns, lists. What cannot be read is passed over with a warning."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from datetime import datetime

import structlog

from ..history import repair
from ..types.messages import Message
from ..types.sessions import Session, SessionInfo
from ..types.turn import Turn
from .stored import from_json, problem_of, to_json

log = structlog.get_logger(__name__)


def resume(connection: sqlite3.Connection, session_id: str) -> Session:
    """Return the view and the number of finished turns; a session that is not known is empty."""
    row = connection.execute("SELECT view, view_after FROM sessions WHERE id = ?", (session_id,)).fetchone()
    if row is None:
        return Session(id=session_id)
    base, after = row
    view = _base(connection, session_id, base) + read_messages(
        connection, "session_id = ? AND position > ?", (session_id, after)
    )
    view, problems = repair(view)
    if problems:
        log.warning("session.repaired", session_id=session_id, problems=problems)
    (count,) = connection.execute(
        "SELECT count(*) FROM turns WHERE session_id = ? AND number IS NOT NULL", (session_id,)
    ).fetchone()
    return Session(id=session_id, view=view, turn_count=count)


def keep_view(connection: sqlite3.Connection, session_id: str, view: tuple[Message, ...]) -> None:
    """Make `view` the base of the session's view; what is appended from now on follows it."""
    ids = json.dumps([message.id for message in view])
    logged = {
        body: position
        for position, body in connection.execute(
            "SELECT position, body FROM messages WHERE session_id = ? AND id IN (SELECT value FROM json_each(?))",
            (session_id, ids),
        )
    }
    bodies = [to_json(message) for message in view]
    base = json.dumps([logged.get(body) or json.loads(body) for body in bodies])
    connection.execute(
        "UPDATE sessions SET view = ?, view_after = (SELECT coalesce(max(position), 0) FROM messages) WHERE id = ?",
        (base, session_id),
    )


def originals(connection: sqlite3.Connection, session_id: str, ids: Collection[str]) -> dict[str, Message]:
    """Return messages as the log has them, by id; ids that it does not have are left out."""
    where = "session_id = ? AND id IN (SELECT value FROM json_each(?))"
    found = read_messages(connection, where, (session_id, json.dumps(list(ids))))
    return {message.id: message for message in found}


def turns(connection: sqlite3.Connection, after: int, session_id: str | None, limit: int | None) -> tuple[Turn, ...]:
    """Return finished turns in the order of their numbers."""
    rows = connection.execute(
        "SELECT id, record, messages FROM turns WHERE number > :after "
        "AND (:session IS NULL OR session_id = :session) ORDER BY number LIMIT :limit",
        {"after": after, "session": session_id, "limit": -1 if limit is None else limit},
    ).fetchall()
    found = []
    for turn_id, record, order in rows:
        try:
            positions: list[int] = json.loads(order)
            turn = from_json(Turn, record, messages=[])
        except ValueError as error:
            log.warning("session.turn_skipped", turn_id=turn_id, problem=problem_of(error))
            continue
        messages = _at_positions(connection, positions)
        ordered = tuple(messages[position] for position in positions if position in messages)
        found.append(turn.model_copy(update={"messages": ordered}))
    return tuple(found)


def count(connection: sqlite3.Connection, after: int) -> int:
    (number,) = connection.execute("SELECT count(*) FROM turns WHERE number > ?", (after,)).fetchone()
    return int(number)


def sessions(connection: sqlite3.Connection) -> tuple[SessionInfo, ...]:
    """List the sessions, the one used last first."""
    rows = connection.execute(
        "SELECT s.id, s.created, s.updated, s.title, count(t.number) FROM sessions s "
        "LEFT JOIN turns t ON t.session_id = s.id GROUP BY s.id ORDER BY s.updated DESC, s.id"
    )
    return tuple(
        SessionInfo(
            id=id,
            created=datetime.fromisoformat(created),
            updated=datetime.fromisoformat(updated),
            turn_count=number,
            title=title,
        )
        for id, created, updated, title, number in rows
    )


def with_open_turns(connection: sqlite3.Connection) -> tuple[str, ...]:
    rows = connection.execute("SELECT DISTINCT session_id FROM turns WHERE number IS NULL")
    return tuple(session_id for (session_id,) in rows)


def read_messages(connection: sqlite3.Connection, where: str, values: tuple[str | int, ...]) -> tuple[Message, ...]:
    """Return the messages of the log that fulfil an SQL condition, in the order they came."""
    query = f"SELECT position, body FROM messages WHERE {where} ORDER BY position"  # noqa: S608 our own conditions
    return tuple(_read(connection.execute(query, values)).values())


def _base(connection: sqlite3.Connection, session_id: str, base: str | None) -> tuple[Message, ...]:
    entries: list[int | dict[str, object]] = json.loads(base) if base else []
    logged = _at_positions(connection, [entry for entry in entries if isinstance(entry, int)])
    own = _read((-index, json.dumps(entry)) for index, entry in enumerate(entries, 1) if not isinstance(entry, int))
    keys = [entry if isinstance(entry, int) else -index for index, entry in enumerate(entries, 1)]
    known = logged | own
    return tuple(known[key] for key in keys if key in known)


def _at_positions(connection: sqlite3.Connection, positions: list[int]) -> dict[int, Message]:
    query = "SELECT position, body FROM messages WHERE position IN (SELECT value FROM json_each(?))"
    return _read(connection.execute(query, (json.dumps(positions),)))


def _read(rows: Iterable[tuple[int, str]]) -> dict[int, Message]:
    found = {}
    for position, body in rows:
        try:
            found[position] = from_json(Message, body)
        except ValueError as error:
            log.warning("session.message_skipped", position=position, problem=problem_of(error))
    return found
