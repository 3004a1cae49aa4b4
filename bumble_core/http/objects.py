"""Read the JSON objects of a reply's body, as a stream or as one document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pydantic_core

from ..errors import InferenceError, MalformedReply
from ..failures import failure
from ..servers import Server
from .events import LARGEST_EVENT, NdjsonReader, SseReader, StreamEvent, too_large

_MEANINGLESS_START = b"\xef\xbb\xbf \t\r\n"  # bytes of a byte-order mark, blanks, ends of lines


class SseObjects:
    """Objects of an event stream up to `[DONE]`; of one JSON document where a server does not stream.

    Which of the two is told by the first byte, since servers and proxies mislabel both.

    Raises:
        InferenceError: an event says that something failed.
        MalformedReply: what came is neither.
    """

    def __init__(self, server: Server) -> None:
        self.done = False
        self._server = server
        self._reader = SseReader()
        self._document: list[bytes] | None = None
        self._size = 0

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the objects that `data` completes."""
        if self._document is None and self._size == 0:
            data = data.lstrip(_MEANINGLESS_START)
            if not data:
                return
            self._document = [] if data[:1] in b"{[<" else None
        self._size += len(data)
        if self._document is None:
            yield from self._objects(self._reader.feed(data))
            return
        if self._size > LARGEST_EVENT:
            raise too_large(LARGEST_EVENT)
        self._document.append(data)

    def end(self) -> Iterator[dict[str, Any]]:
        """Yield what the body's end completes; half an event at the end of a stream is none."""
        if self._document is None:
            yield from self._objects(self._reader.end())
        else:
            yield parse_object(b"".join(self._document).decode("utf-8-sig", "replace"), self._server)

    def _objects(self, events: list[StreamEvent]) -> Iterator[dict[str, Any]]:
        for event in events:
            data = event.data.strip()
            if self.done or not data:
                continue
            if data == "[DONE]":
                self.done = True
            elif event.name == "error":
                raise failure(self._server, None, data)
            elif (parsed := _parsed(data, event, self._server)) is not None:
                yield parsed


class NdjsonObjects:
    """Objects of an NDJSON stream.

    Raises:
        MalformedReply: a line is no JSON object.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._reader = NdjsonReader()

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yield the objects that `data` completes."""
        return self._objects(self._reader.feed(data))

    def end(self) -> Iterator[dict[str, Any]]:
        """Yield what the body's end completes; half a line is none."""
        return self._objects(self._reader.end())

    def _objects(self, events: list[StreamEvent]) -> Iterator[dict[str, Any]]:
        for event in events:
            if (parsed := _parsed(event.data, event, self._server)) is not None:
                yield parsed


def parse_object(text: str, server: Server) -> dict[str, Any]:
    """Return the JSON object that `text` is.

    Raises:
        MalformedReply: it is something else; the message quotes how it starts.
    """
    try:
        parsed = _loaded(text)
    except (ValueError, RecursionError) as error:
        what = "an HTML page" if text.lstrip()[:1] == "<" else f"something else than JSON: {server.quoted(text)}"
        raise MalformedReply(f"{server} answered {what}") from error
    if not isinstance(parsed, dict):
        raise MalformedReply(f"{server} answered JSON that is not an object: {server.quoted(text)}")
    return parsed


def _loaded(text: str) -> Any:
    """Parse JSON with the faster of two parsers; only the other knows halves of characters."""
    try:
        return pydantic_core.from_json(text)
    except ValueError:
        return json.loads(text)


def _parsed(data: str, event: StreamEvent, server: Server) -> dict[str, Any] | None:
    try:
        return parse_object(data, server)
    except InferenceError:
        if event.terminated:
            raise
        return None  # the connection ended inside it
