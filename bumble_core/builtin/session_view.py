"""Read what is kept of sessions: views, turns, lists. What cannot be read is passed over with a warning."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import structlog

from ..types.messages import Message
from ..types.sessions import SessionInfo
from ..types.turn import Turn
from .stored import from_json, problem_of, to_json

log = structlog.get_logger(__name__)

Row = tuple[int, str, str]  # position, id and body of a message


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
        messages = _at_positions(connection, positions, {})
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
    query = f"SELECT position, id, body FROM messages WHERE {where} ORDER BY position"  # noqa: S608 our own conditions
    return tuple(read_rows(connection.execute(query, values), {}).values())


def rows_after(connection: sqlite3.Connection, session_id: str, position: int) -> list[Row]:
    """Return the rows of a session's log behind `position`, in the order they came."""
    query = "SELECT position, id, body FROM messages WHERE session_id = ? AND position > ? ORDER BY position"
    return connection.execute(query, (session_id, position)).fetchall()


def read_base(connection: sqlite3.Connection, session_id: str, known: Mapping[str, Message]) -> tuple[Message, ...]:
    """Return what the last compaction left of a session's view; see `read_rows` for `known`."""
    (base,) = connection.execute("SELECT view FROM sessions WHERE id = ?", (session_id,)).fetchone()
    entries: list[int | dict[str, object]] = json.loads(base) if base else []
    logged = _at_positions(connection, [entry for entry in entries if isinstance(entry, int)], known)
    own: list[Row] = [
        (-index, str(entry.get("id")), json.dumps(entry))
        for index, entry in enumerate(entries, 1)
        if not isinstance(entry, int)
    ]
    found = logged | read_rows(own, known)
    keys = [entry if isinstance(entry, int) else -index for index, entry in enumerate(entries, 1)]
    return tuple(found[key] for key in keys if key in found)


def read_rows(rows: Iterable[Row], known: Mapping[str, Message]) -> dict[int, Message]:
    """Return messages by position; one of `known`, by id, is taken where the row holds the same."""
    found = {}
    for position, message_id, body in rows:
        former = known.get(message_id)
        if former is not None and to_json(former) == body:
            found[position] = former
            continue
        try:
            message = from_json(Message, body)
        except ValueError as error:
            log.warning("session.message_skipped", position=position, problem=problem_of(error))
            continue
        found[position] = former if former is not None and former == message else message
    return found


def _at_positions(
    connection: sqlite3.Connection, positions: list[int], known: Mapping[str, Message]
) -> dict[int, Message]:
    query = "SELECT position, id, body FROM messages WHERE position IN (SELECT value FROM json_each(?))"
    return read_rows(connection.execute(query, (json.dumps(positions),)), known)
