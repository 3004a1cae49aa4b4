"""Write turns and their messages to the log, in transactions that leave no half of anything."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from functools import reduce

from ..errors import ContractError
from ..history import repair
from ..types.log import observed
from ..types.messages import Message
from ..types.turn import Turn, TurnInput
from .database import transaction
from .session_search import index
from .session_view import keep_view, read_messages
from .stored import from_json, to_json

_TITLE_LENGTH = 80
_DIED = "the process that ran this turn ended before the turn did"


def begin(connection: sqlite3.Connection, input: TurnInput) -> None:
    """Accept an input: from here on it is not lost.

    Raises:
        ContractError: the session has a turn of that id.
    """
    turn = Turn(
        id=input.id,
        session_id=input.session_id,
        origin=input.origin,
        surface=input.surface,
        started=input.started,
        finished=input.started,
        status="interrupted",
        error=_DIED,
        messages=(),
    )
    with transaction(connection):
        _touch(connection, input.session_id, input.started, input.message.text)
        key = _insert_turn(connection, turn)
        _put(connection, key, input.session_id, input.message, input.started)


def append(connection: sqlite3.Connection, turn_id: str, messages: tuple[Message, ...], at: datetime) -> None:
    """Add messages to an open turn; one with the id of an earlier message of the turn takes its place.

    Raises:
        ContractError: no turn of that id is open.
    """
    with transaction(connection):
        key, session_id = _open_turn(connection, turn_id)
        for message in messages:
            _put(connection, key, session_id, message, at)


def finish(connection: sqlite3.Connection, turn: Turn, view: tuple[Message, ...] | None, at: datetime) -> Turn:
    """Close an open turn and return it with its number.

    Messages of the turn that were not appended are added to the log.

    Raises:
        ContractError: no turn of that id is open.
    """
    with transaction(connection):
        key, session_id = _open_turn(connection, turn.id)
        closed = _close(connection, key, turn.model_copy(update={"session_id": session_id}), at)
        if view is not None:
            keep_view(connection, session_id, view)
        _touch(connection, session_id, at)
    return closed


def restore(connection: sqlite3.Connection, session_id: str, turns: tuple[Turn, ...]) -> None:
    """Write finished turns of another home behind those of `session_id`; one that is there already is passed over."""
    with transaction(connection):
        for turn in turns:
            known = connection.execute("SELECT 1 FROM turns WHERE session_id = ? AND id = ?", (session_id, turn.id))
            if known.fetchone():
                continue
            own = turn.model_copy(update={"session_id": session_id})
            _touch(connection, session_id, turn.started, turn.messages[0].text if turn.messages else "")
            _close(connection, _insert_turn(connection, own), own, turn.started)
            _touch(connection, session_id, turn.finished)


def interrupt(connection: sqlite3.Connection, session_id: str, at: datetime) -> tuple[str, ...]:
    """Close the open turns of a session whose process died, answer their open calls, and return the turns' ids."""
    opened = "SELECT key, record FROM turns WHERE session_id = ? AND number IS NULL ORDER BY key"
    if connection.execute(opened, (session_id,)).fetchone() is None:
        return ()
    with transaction(connection):
        rows = connection.execute(opened, (session_id,)).fetchall()
        closed = []
        for key, record in rows:
            logged = read_messages(connection, "turn = ?", (key,))
            known = {message.id for message in logged}
            added = tuple(message for message in repair(logged)[0] if message.id not in known)
            results = (result for message in logged for result in message.tool_results)
            said = tuple(result.said for result in results if result.said and result.status == "ok")
            ordered = reduce(observed, logged + added, tuple[Message, ...]())
            turn = from_json(Turn, record, messages=[]).model_copy(
                update={"messages": ordered, "finished": at, "delivered": said}
            )
            _close(connection, key, turn, at)
            closed.append(turn.id)
        return tuple(closed)


def delete(connection: sqlite3.Connection, session_id: str) -> int:
    """Remove a session from tables, index and disk; return how many turns it had."""
    connection.execute("PRAGMA secure_delete = ON")
    try:
        with transaction(connection):
            of_session = (session_id,)
            connection.execute(
                "DELETE FROM spoken WHERE rowid IN (SELECT position FROM messages WHERE session_id = ?)", of_session
            )
            connection.execute("DELETE FROM messages WHERE session_id = ?", of_session)
            turns = connection.execute("DELETE FROM turns WHERE session_id = ?", of_session).rowcount
            connection.execute("DELETE FROM sessions WHERE id = ?", of_session)
    finally:
        connection.execute("PRAGMA secure_delete = OFF")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return turns


def _close(connection: sqlite3.Connection, key: int, turn: Turn, at: datetime) -> Turn:
    rows = connection.execute("SELECT id, body, position FROM messages WHERE turn = ?", (key,))
    logged: dict[tuple[str, str], int] = {(id, body): position for id, body, position in rows}
    positions = [
        logged.get((message.id, to_json(message))) or _put(connection, key, turn.session_id, message, at)
        for message in turn.messages
    ]
    index(connection, positions, turn.messages)
    connection.execute("UPDATE last_number SET number = number + 1")
    (number,) = connection.execute("SELECT number FROM last_number").fetchone()
    numbered = turn.model_copy(update={"number": number})
    connection.execute(
        "UPDATE turns SET number = ?, record = ?, messages = ? WHERE key = ?",
        (number, to_json(numbered, exclude={"messages"}), json.dumps(positions), key),
    )
    return numbered


def _put(connection: sqlite3.Connection, key: int, session_id: str, message: Message, at: datetime) -> int:
    body = to_json(message)
    added = connection.execute(
        "INSERT INTO messages (session_id, turn, id, at, role, body) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (turn, id) DO NOTHING",
        (session_id, key, message.id, _time(at), message.role, body),
    )
    if added.rowcount:
        return int(added.lastrowid or 0)
    known = "SELECT position, body FROM messages WHERE turn = ? AND id = ?"
    position, former = connection.execute(known, (key, message.id)).fetchone()
    if former != body:
        connection.execute("UPDATE messages SET role = ?, body = ? WHERE position = ?", (message.role, body, position))
    return int(position)


def _insert_turn(connection: sqlite3.Connection, turn: Turn) -> int:
    row = (turn.session_id, turn.id, to_json(turn, exclude={"messages"}))
    try:
        added = connection.execute("INSERT INTO turns (session_id, id, record) VALUES (?, ?, ?)", row)
    except sqlite3.IntegrityError as error:
        raise ContractError(f"session `{turn.session_id}` has a turn `{turn.id}` already") from error
    return int(added.lastrowid or 0)


def _open_turn(connection: sqlite3.Connection, turn_id: str) -> tuple[int, str]:
    row = connection.execute("SELECT key, session_id FROM turns WHERE id = ? AND number IS NULL", (turn_id,)).fetchone()
    if row is None:
        raise ContractError(f"turn `{turn_id}` is not open: it was finished, interrupted, deleted or never begun")
    return int(row[0]), str(row[1])


def _touch(connection: sqlite3.Connection, session_id: str, at: datetime, words: str = "") -> None:
    title = next((line.strip() for line in words.splitlines() if line.strip()), "")[:_TITLE_LENGTH]
    title = title.encode("utf-8", "replace").decode("utf-8")
    connection.execute(
        "INSERT INTO sessions (id, created, updated, title) VALUES (:id, :at, :at, :title) ON CONFLICT (id) DO UPDATE "
        "SET updated = max(updated, :at), title = CASE title WHEN '' THEN :title ELSE title END",
        {"id": session_id, "at": _time(at), "title": title},
    )


def _time(at: datetime) -> str:
    """Return a text that sorts as the times do."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")
