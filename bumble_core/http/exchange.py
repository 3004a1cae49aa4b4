"""Turn the pieces of one reply into deltas and a completion."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Protocol

from ..errors import MalformedReply, TimedOut
from ..types.inference import Completion, Delta
from .reply import Reply

_AFTER_FINISH_S = 5.0  # some servers count tokens after the answer, some never close the connection
_AFTER_DONE_S = 0.25  # the end of the body, so that the connection can be used again


class ReplyParser(Protocol):
    """Understands the bytes of one reply, without I/O.

    `finished` once the server said how the answer ended, `done` once nothing more is worth reading. What follows
    `finished` never fails. What was said before something failed is yielded before it is raised.
    """

    @property
    def finished(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    def feed(self, data: bytes) -> Iterator[Delta]: ...
    def end(self) -> Iterator[Delta]: ...
    def completion(self) -> Completion: ...


async def read_reply(reply: Reply, parser: ReplyParser) -> AsyncGenerator[Delta | Completion, None]:
    """Yield deltas, then the completion, which says `cut` when the reply ended before the server said how.

    Raises:
        InferenceError: the reply is an error, no reply, or too slow.
    """
    if reply.content_type in ("text/html", "application/xhtml+xml"):
        raise MalformedReply(
            f"{reply.server} answered with `{reply.content_type}`, a page for people; check `base_url`"
        )
    while piece := await _piece(reply, parser):
        for delta in parser.feed(piece):
            yield delta
    for delta in parser.end():
        yield delta
    yield parser.completion()


async def _piece(reply: Reply, parser: ReplyParser) -> bytes:
    if not parser.finished:
        return await reply.read()
    try:
        return await reply.read(_AFTER_DONE_S if parser.done else _AFTER_FINISH_S)
    except (TimedOut, MalformedReply):
        return b""
