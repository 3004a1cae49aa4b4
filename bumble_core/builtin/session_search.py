"""Find what people and models said, literally, in any script.

A turn comes into the index when it ends, all of it at once; the messages of turns that still run are read instead.
"""

from __future__ import annotations

import heapq
import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from operator import itemgetter

from ..types.messages import Message
from ..types.sessions import Hit
from .session_view import read_rows

_SHORTEST_INDEXED = 3  # the index is made of groups of three characters
_AROUND = 60

_COLUMNS = (
    "SELECT m.position, m.session_id, t.id, m.id, m.role, m.at, s.text FROM spoken s "
    "JOIN messages m ON m.position = s.rowid JOIN turns t ON t.key = m.turn "
    "WHERE t.number IS NOT NULL AND (:session IS NULL OR m.session_id = :session)"
)
_OF_OPEN_TURNS = (
    "SELECT m.position, m.session_id, t.id, m.id, m.role, m.at, m.body FROM turns t JOIN messages m ON m.turn = t.key "
    "WHERE t.number IS NULL AND (:session IS NULL OR m.session_id = :session) ORDER BY m.position DESC"
)
_NEWEST_FIRST = " ORDER BY s.rowid DESC"

_Candidate = tuple[int, str, str, str, str, str, str]  # the columns above, the last one as what was said


def index(connection: sqlite3.Connection, positions: Sequence[int], messages: Sequence[Message]) -> None:
    """Make the words of messages findable: texts and results, not the thinking and not the calls."""
    spoken = zip(positions, map(_spoken, messages), strict=True)
    rows = [(position, text) for position, text in spoken if text]
    connection.executemany("INSERT OR REPLACE INTO spoken (rowid, text) VALUES (?, ?)", rows)


def search(connection: sqlite3.Connection, text: str, session_id: str | None, limit: int) -> tuple[Hit, ...]:
    """Return the newest messages that hold `text`; no character in it has a meaning of its own."""
    if not text.strip():
        return ()
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    hits: list[Hit] = []
    candidates = (_indexed(connection, text, session_id), _open(connection, session_id))
    for _, session, turn, message, role, at, spoken in heapq.merge(*candidates, key=itemgetter(0), reverse=True):
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


def _indexed(connection: sqlite3.Connection, text: str, session_id: str | None) -> Iterator[_Candidate]:
    """Narrow by the index where it can; a text of one or two characters is looked for in every message.

    A NUL would end a query of the index and half a surrogate pair cannot be sent to it: those are looked for too.
    """
    named = {"session": session_id, "query": '"{}"'.format(text.replace('"', '""'))}
    if len(text) < _SHORTEST_INDEXED or "\0" in text or not _is_unicode(text):
        del named["query"]
        return connection.execute(_COLUMNS + _NEWEST_FIRST, named)
    return connection.execute(f"{_COLUMNS} AND spoken MATCH :query{_NEWEST_FIRST}", named)


def _open(connection: sqlite3.Connection, session_id: str | None) -> Iterator[_Candidate]:
    """Yield the messages of turns that still run."""
    for *columns, body in connection.execute(_OF_OPEN_TURNS, {"session": session_id}).fetchall():
        position, session, turn, message_id, role, at = columns
        for message in read_rows([(position, message_id, body)], {}).values():
            yield position, session, turn, message_id, role, at, _spoken(message)


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
