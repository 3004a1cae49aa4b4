"""The tables of `sessions.sqlite3`.

`messages` is the log: a row per message in the order they came, `position` counting over all sessions. `turns` has a
row per turn; while `number` is NULL the turn is open, and `record` is what it will be if its process dies. A session's
`view` is NULL until its first compaction; from then on it is the JSON list of a base (positions of messages as the log
has them, whole messages where the view has its own), and the rows after `view_after` follow that base. `spoken` is the
search index over the words of finished turns, by position.
"""

from __future__ import annotations

import sqlite3

from ..errors import HomeError
from .database import transaction

SCHEMA = 1

_TABLES = (
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY, created TEXT NOT NULL, updated TEXT NOT NULL, title TEXT NOT NULL,
        view TEXT, view_after INTEGER NOT NULL DEFAULT 0
    )""",
    """CREATE TABLE turns (
        key INTEGER PRIMARY KEY, session_id TEXT NOT NULL, id TEXT NOT NULL, number INTEGER UNIQUE,
        record TEXT NOT NULL, messages TEXT, UNIQUE (session_id, id)
    )""",
    "CREATE INDEX open_turns ON turns (id) WHERE number IS NULL",
    """CREATE TABLE messages (
        position INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, turn INTEGER NOT NULL, id TEXT NOT NULL,
        at TEXT NOT NULL, role TEXT NOT NULL, body TEXT NOT NULL, UNIQUE (turn, id)
    )""",
    "CREATE INDEX messages_of_session ON messages (session_id, position)",
    "CREATE INDEX messages_by_id ON messages (session_id, id)",
    "CREATE TABLE last_number (number INTEGER NOT NULL)",
    "INSERT INTO last_number VALUES (0)",
    "CREATE VIRTUAL TABLE spoken USING fts5(text, tokenize = 'trigram')",
)


def prepare(connection: sqlite3.Connection) -> None:
    """Make the connection durable and the tables exist. One process at a time, because the first switches to WAL.

    `synchronous=FULL` syncs at each commit, so that an accepted message outlives a power cut too. A commit of one
    message then takes 0.4 ms on an idle disk and 2 ms on a busy one, instead of 0.1 and 0.2 ms (virtual disk, 2 cores,
    SQLite 3.40); a turn has a handful of them, a model call takes a thousand times as long.

    Raises:
        HomeError: a later version of the kernel wrote the file.
    """
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > SCHEMA:
        raise HomeError(
            f"the sessions of this home have schema {found}, and this version of bumble_core knows {SCHEMA}; "
            "install the version that wrote them or choose another home"
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if found == 0:
        with transaction(connection):
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
