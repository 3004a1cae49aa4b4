"""Reach one server: one pool of connections per event loop, deadlines on every wait, errors without secrets."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import lru_cache
from weakref import WeakKeyDictionary

import httpx
import structlog

from ..errors import AuthenticationError, InferenceError, Unreachable
from ..failures import failure
from ..ports import Clock
from ..servers import Server
from ..types.http import HttpSettings
from .address import Address
from .credentials import guarded, read_key, request_headers
from .delays import retry_delay
from .reply import Reply, Wait, timed_out
from .transports import make_transport

log = structlog.get_logger(__name__)

_LARGEST_ERROR = 64 * 1024  # bytes of an error's body that are read
_ERROR_BODY_S = 5.0


class HttpClient:
    """Sends requests to one server and gives their replies as pieces of bytes.

    With `needs_key` nothing is sent before there is a key.
    """

    def __init__(self, server: Server, settings: HttpSettings, clock: Clock, *, needs_key: bool = False) -> None:
        self.settings = settings
        self.address = Address.parse(settings.base_url)
        self._named = server
        self._clock = clock
        self._needs_key = needs_key
        self._url = lru_cache(maxsize=16)(httpx.URL)  # a request's address is taken apart once
        self._transports: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport] = WeakKeyDictionary()

    @asynccontextmanager
    async def send(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        *,
        model: str = "",
        deadline: float | None = None,
        settings: HttpSettings | None = None,
    ) -> AsyncIterator[Reply]:
        """Send a request and give its reply; leaving early closes the connection.

        `deadline` is a moment on `clock.monotonic`; without one the settings' `timeout_s` starts now. `settings` are
        other timeouts for this request.

        Raises:
            InferenceError: no connection, no answer in time, or an answer that is an error.
        """
        settings = settings or self.settings
        key = await read_key(settings, self._named)
        server = guarded(self._named, settings, self.address, key)
        if self._needs_key and not key:
            raise AuthenticationError(f"{server} needs a key and there is none; {server.key_hint}")
        transport = await self._transport()
        timeout = httpx.Timeout(None, connect=settings.connect_timeout_s)
        request = httpx.Request(
            method,
            self._url(self.address.join(path)),
            content=content or None,
            headers=request_headers(settings, self.address, key),
            extensions={"timeout": timeout.as_dict()},
        )
        deadline = deadline if deadline is not None else self._clock.monotonic() + settings.timeout_s
        limit, phase = self._limit(settings.first_byte_timeout_s, "first_byte", deadline)
        response = await _started(transport, request, server, settings, limit, phase)
        try:
            if not response.is_success:
                raise await self._failure(response, server, model)
            with closing(Reply(response, server, settings, self._clock, deadline)) as reply:
                yield reply
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        here = asyncio.get_running_loop()
        for loop, transport in list(self._transports.items()):
            del self._transports[loop]
            if loop is here:
                await transport.aclose()
            elif loop.is_running():
                asyncio.run_coroutine_threadsafe(transport.aclose(), loop)

    def _limit(self, seconds: float, phase: Wait, deadline: float) -> tuple[float, Wait]:
        left = deadline - self._clock.monotonic()
        return (seconds, phase) if seconds <= left else (max(left, 0.0), "whole")

    async def _transport(self) -> httpx.AsyncBaseTransport:
        """Return what the running loop sends with; connections cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        if loop not in self._transports:
            for other in [each for each in self._transports if each.is_closed()]:
                del self._transports[other]
            context = await self._context()
            if loop not in self._transports:  # another request may have been faster
                self._transports[loop] = self._made(context)
        return self._transports[loop]

    async def _context(self) -> ssl.SSLContext:
        if self.address.is_https or self._is_proxied:
            return await asyncio.to_thread(httpx.create_ssl_context)  # 30 to 50 ms
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody and costs nothing; unused over http

    def _made(self, context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
        wanted = self.settings.fast_transport
        return make_transport(self.address, context, is_proxied=self._is_proxied, wants_fast=wanted)

    @property
    def _is_proxied(self) -> bool:
        return not self.address.is_local and any(name.lower().endswith("_proxy") for name in os.environ)

    async def _failure(self, response: httpx.Response, server: Server, model: str) -> InferenceError:
        body = await _bounded_body(response)
        log.debug("request.refused", server=server.name, address=server.address, status=response.status_code)
        text = body.decode("utf-8", "replace")
        if location := response.headers.get("location", ""):
            text = text or f"redirected to {location}"
        delay = retry_delay(response.headers, self._clock.now(), limited=response.status_code == 429)
        return failure(server, response.status_code, text, model=model, retry_after_s=delay)


async def _started(
    transport: httpx.AsyncBaseTransport,
    request: httpx.Request,
    server: Server,
    settings: HttpSettings,
    limit: float,
    phase: Wait,
) -> httpx.Response:
    """Send the request and return once the headers of its response are there."""
    try:
        async with asyncio.timeout(limit):
            return await transport.handle_async_request(request)
    except (httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        raise timed_out(server, "connect", settings.connect_timeout_s) from error
    except TimeoutError as error:
        raise timed_out(server, phase, limit) from error
    except (httpx.TransportError, httpx.InvalidURL, OSError) as error:
        hint = f"; {server.start_hint}" if server.start_hint else ""
        raise Unreachable(f"no connection to {server}: {server.quoted(str(error)) or 'it broke off'}{hint}") from error


async def _bounded_body(response: httpx.Response) -> bytes:
    body = bytearray()
    with contextlib.suppress(httpx.HTTPError, TimeoutError):  # the status says enough
        async with asyncio.timeout(_ERROR_BODY_S):
            pieces = response.aiter_bytes()
            while len(body) < _LARGEST_ERROR and (piece := await anext(pieces, b"")):
                body += piece
    return bytes(body[:_LARGEST_ERROR])
