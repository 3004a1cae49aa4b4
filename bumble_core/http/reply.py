"""Read a reply's body piece by piece, each within its time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Literal

import httpx
import structlog

from ..errors import MalformedReply, TimedOut
from ..patience import Patience
from ..ports import Clock
from ..servers import Server
from ..types.http import HttpSettings

log = structlog.get_logger(__name__)

Wait = Literal["connect", "first_byte", "between_bytes", "whole"]


class Reply:
    """A reply whose headers are known; `was_cut` once its connection broke before its end."""

    def __init__(
        self, response: httpx.Response, server: Server, settings: HttpSettings, clock: Clock, deadline: float
    ) -> None:
        self.server = server
        self.was_cut = False
        self.content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._pieces = _body(response)
        self._settings = settings
        self._clock = clock
        self._deadline = deadline
        self._phase: Wait = "first_byte"
        self._patience = Patience()

    async def read(self, within_s: float | None = None) -> bytes:
        """Return the next piece; nothing at the end, and when the connection broke.

        Raises:
            TimedOut: no piece came in time.
            MalformedReply: the body cannot be decoded.
        """
        limit, phase = self._limit(within_s)
        try:
            with self._patience.of(limit):
                piece = await anext(self._pieces, b"")
        except TimeoutError as error:
            raise timed_out(self.server, phase, limit) from error
        except httpx.DecodingError as error:
            raise MalformedReply(f"{self.server} sent a body that cannot be decoded") from error
        except httpx.TransportError as error:
            log.debug("reply.cut", server=self.server.name, address=self.server.address, problem=type(error).__name__)
            self.was_cut = True
            return b""
        self._phase = "between_bytes"
        return piece

    def close(self) -> None:
        """Give back what waiting took; the body is not read any more."""
        self._patience.close()

    async def read_all(self, largest: int) -> bytes:
        """Return the whole body.

        Raises:
            MalformedReply: it is larger than `largest` bytes, or was cut.
        """
        body = bytearray()
        while piece := await self.read():
            body += piece
            if len(body) > largest:
                raise MalformedReply(f"{self.server} sent more than {largest:,} bytes")
        if self.was_cut:
            raise MalformedReply(f"{self.server} broke the connection inside its reply")
        return bytes(body)

    def _limit(self, within_s: float | None) -> tuple[float, Wait]:
        settings = self._settings
        phase = self._phase
        usual = settings.first_byte_timeout_s if phase == "first_byte" else settings.between_bytes_timeout_s
        left = max(self._deadline - self._clock.monotonic(), 0.0)
        seconds = usual if within_s is None else min(usual, within_s)
        return (seconds, phase) if seconds <= left else (left, "whole")


def _body(response: httpx.Response) -> AsyncIterator[bytes]:
    """Return the body's pieces as they come; httpx decodes and counts them only where they are encoded."""
    if "content-encoding" not in response.headers and isinstance(response.stream, httpx.AsyncByteStream):
        return aiter(response.stream)
    return response.aiter_bytes()


def timed_out(server: Server, phase: Wait, seconds: float) -> TimedOut:
    """Return the error for a wait that was too long."""
    what = {
        "connect": "did not accept a connection",
        "first_byte": "sent nothing",
        "between_bytes": "paused inside its reply",
        "whole": "did not finish",
    }[phase]
    return TimedOut(f"{server} {what} for {seconds:g} s; a longer wait is set by `{_KEYS[phase]}`", phase)


_KEYS: Mapping[Wait, str] = {
    "connect": "connect_timeout_s",
    "first_byte": "first_byte_timeout_s",
    "between_bytes": "between_bytes_timeout_s",
    "whole": "timeout_s",
}
