"""What is kept of a conversation and what a search of it finds."""

from __future__ import annotations

from datetime import datetime

from .base import Value
from .messages import Message


class Session(Value):
    """What a conversation is resumed from: a view that fits, not the whole log."""

    id: str
    view: tuple[Message, ...] = ()
    turn_count: int = 0


class SessionInfo(Value):
    """One line of a list of sessions. `title` is the beginning of the first input."""

    id: str
    created: datetime
    updated: datetime
    turn_count: int
    title: str = ""


class Hit(Value):
    """One message that a search found; `excerpt` is the text around the match."""

    session_id: str
    turn_id: str
    message_id: str
    role: str
    excerpt: str
    at: datetime
