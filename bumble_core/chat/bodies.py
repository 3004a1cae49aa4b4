"""Put the body of a request together from messages that were encoded before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pydantic import JsonValue

from ..memo import PerMessage
from ..types.messages import Message
from .requests import encode_json, encode_message

Entries = list[dict[str, JsonValue]]


class BodyEncoder:
    """Encodes each message once, and keeps its bytes as long as the message lives.

    `entries` gives what a message is on the wire, where that differs from OpenAI's shape. `pieces` holds the bytes.
    """

    def __init__(self, entries: Callable[[Message], Entries] = encode_message) -> None:
        self.pieces: PerMessage[bytes] = PerMessage(lambda message: b",".join(map(encode_json, entries(message))))

    def __call__(self, fields: Mapping[str, JsonValue], messages: Iterable[Message]) -> bytes:
        """Return `fields`, of which there is at least one, and the messages as one JSON object."""
        joined = b",".join(filter(None, self.pieces(tuple(messages))))
        return b"".join((encode_json(fields)[:-1], b',"messages":[', joined, b"]}"))
