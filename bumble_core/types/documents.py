"""A text file of the agent's memory at one moment."""

from __future__ import annotations

from .base import Value

ABSENT = "absent"


class Document(Value):
    """`version` is the SHA-256 of the bytes, in hex, or `ABSENT` when there is no such file."""

    path: str
    text: str
    version: str


class Version(Value):
    """An earlier text of a document that is still kept. `saved_at` is an ISO time in UTC."""

    path: str
    version: str
    saved_at: str
