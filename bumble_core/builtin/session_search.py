"""Find what people and models said, literally, in any script."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime

from ..types.messages import Message
from ..types.sessions import Hit

_SHORTEST_INDEXED = 3  # the index is made of groups of three characters
_AROUND = 60

_COLUMNS = (
    "SELECT m.session_id, t.id, m.id, m.role, s.text, m.at FROM spoken s "
    "JOIN messages m ON m.position = s.rowid JOIN turns t ON t.key = m.turn "
    "WHERE (:session IS NULL OR m.session_id = :session)"
)
_NEWEST_FIRST = " ORDER BY s.rowid DESC"


def index(connection: sqlite3.Connection, position: int, message: Message) -> None:
    """Make the words of a message findable: its text and its results, not the thinking and not the calls."""
    if text := _spoken(message):
        connection.execute("INSERT INTO spoken (rowid, text) VALUES (?, ?)", (position, text))


def forget(connection: sqlite3.Connection, position: int) -> None:
    """Take the words of a message out of the index."""
    connection.execute("DELETE FROM spoken WHERE rowid = ?", (position,))


def search(connection: sqlite3.Connection, text: str, session_id: str | None, limit: int) -> tuple[Hit, ...]:
    """Return the newest messages that hold `text`; no character in it has a meaning of its own."""
    if not text.strip():
        return ()
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    hits: list[Hit] = []
    for session, turn, message, role, spoken, at in _candidates(connection, text, session_id):
        if len(hits) >= limit:
            break
        if found := pattern.search(spoken):
            excerpt = _excerpt(spoken, found.start(), found.end())
            hits.append(
                Hit(
                    session_id=session,
                    turn_id=turn,
                    message_id=message,
                    role=role,
                    excerpt=excerpt,
                    at=datetime.fromisoformat(at),
                )
            )
    return tuple(hits)


def _candidates(
    connection: sqlite3.Connection, text: str, session_id: str | None
) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Narrow by the index where it can; a text of one or two characters is looked for in every message.

    A NUL would end a query of the index and half a surrogate pair cannot be sent to it: those are looked for too.
    """
    named = {"session": session_id, "query": '"{}"'.format(text.replace('"', '""'))}
    if len(text) < _SHORTEST_INDEXED or "\0" in text or not _is_unicode(text):
        del named["query"]
        return connection.execute(_COLUMNS + _NEWEST_FIRST, named)
    return connection.execute(f"{_COLUMNS} AND spoken MATCH :query{_NEWEST_FIRST}", named)


def _spoken(message: Message) -> str:
    texts = (message.text, *(text for result in message.tool_results for text in (result.said, result.content)))
    spoken = "\n".join(text for text in texts if text)
    return spoken if _is_unicode(spoken) else spoken.encode("utf-8", "replace").decode("utf-8")


def _is_unicode(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def _excerpt(text: str, start: int, end: int) -> str:
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"
