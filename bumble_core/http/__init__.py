"""What providers that speak HTTP share: readers, a client, retries.

This package imports httpx, and only a provider's implementation imports this package.
"""

from __future__ import annotations

from ..failures import failure
from ..servers import Server
from .address import Address
from .chat_reply import ChatReply
from .client import HttpClient
from .delays import retry_delay
from .events import NdjsonReader, SseReader, StreamEvent
from .exchange import ReplyParser, read_reply
from .learned import Learned
from .objects import NdjsonObjects, SseObjects, parse_object
from .reply import Reply
from .retries import pause_s, with_retries

__all__ = [
    "Address",
    "ChatReply",
    "HttpClient",
    "Learned",
    "NdjsonObjects",
    "NdjsonReader",
    "Reply",
    "ReplyParser",
    "Server",
    "SseObjects",
    "SseReader",
    "StreamEvent",
    "failure",
    "parse_object",
    "pause_s",
    "read_reply",
    "retry_delay",
    "with_retries",
]
