"""Send httpx's requests through aiohttp, which takes less than half of the CPU for them.

Loaded only where the extra `fast` is installed. Errors become those that httpx's own transport raises.
"""

from __future__ import annotations

import asyncio
import ssl
import weakref
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress

import aiohttp
import httpx
from aiohttp.http_exceptions import HttpProcessingError
from httpx_aiohttp import AiohttpTransport
from typing_extensions import override

_NO_LIMIT = 0  # of connections, as aiohttp writes it


class FastTransport(httpx.AsyncBaseTransport):
    """Connections of the running loop; no cookies, no proxies."""

    def __init__(self, context: ssl.SSLContext, keepalive_s: float) -> None:
        connector = aiohttp.TCPConnector(limit=_NO_LIMIT, ssl=context, keepalive_timeout=keepalive_s)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False)
        self._inner = AiohttpTransport(verify=context, client=session)
        weakref.finalize(self, _let_go, asyncio.get_running_loop(), session)

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _httpx_errors():
            response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Body(response.stream)
        return response

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _httpx_errors():
            async for piece in self._inner:
                yield piece

    @override
    async def aclose(self) -> None:
        with _httpx_errors():
            await self._inner.aclose()


def _let_go(loop: asyncio.AbstractEventLoop, session: aiohttp.ClientSession) -> None:
    """End a session whose loop was closed before it, of which aiohttp would complain; there is nothing to wait for."""
    if loop.is_closed() and not session.closed:
        closing = session.close()
        with suppress(StopIteration):
            closing.send(None)


@contextmanager
def _httpx_errors() -> Generator[None, None, None]:
    """Name errors as httpx does: httpx-aiohttp calls every lost connection a timeout, and leaves some as they are."""
    try:
        yield
    except httpx.TimeoutException as error:
        if isinstance(error.__cause__, TimeoutError):
            raise
        raise httpx.ReadError(str(error)) from error
    except (aiohttp.ClientError, HttpProcessingError) as error:
        raise httpx.RemoteProtocolError(str(error)) from error
    except ValueError as error:  # a header that cannot be sent
        raise httpx.LocalProtocolError(str(error)) from error
