"""Choose what carries requests to a server: httpx's own transport, or the faster one where it is installed."""

from __future__ import annotations

import importlib.util
import ssl
from collections.abc import Callable

import httpx
from typing_extensions import override

from ..deferred import Deferred
from .address import Address

_KEEPALIVE_S = 60
_PAYS_FROM = 16  # requests of one client: aiohttp takes 80 ms to import and saves 3 to 5 ms of a reply of 200 tokens
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEEPALIVE_S)


def make_transport(
    address: Address, context: ssl.SSLContext, *, is_proxied: bool, wants_fast: bool | None
) -> httpx.AsyncBaseTransport:
    """Return the way to a server for the running loop. A proxy of the environment is reached by httpx alone.

    `wants_fast` is whether the faster one is used where it is installed; None: once that pays.

    Requests go to it without an `httpx.AsyncClient` between, whose redirects, cookies and hooks nobody here needs, and
    which writes addresses with their secrets to the log.
    """
    if is_proxied:
        transport: httpx.AsyncBaseTransport = _Proxied(context)
    elif wants_fast is False or not is_fast_installed():
        transport = _plain(context)
    else:
        transport = _fast(context) if wants_fast else _FastOnceItPays(context)
    return _WithQuery(transport, address.query) if address.query else transport


def is_fast_installed() -> bool:
    """Tell whether the extra `fast` is there."""
    return importlib.util.find_spec("httpx_aiohttp") is not None


def _plain(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    return httpx.AsyncHTTPTransport(verify=context, limits=_LIMITS)


def _fast(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    make: Callable[[ssl.SSLContext, float], httpx.AsyncBaseTransport] = Deferred("bumble_core.http.fast:FastTransport")
    return make(context, _KEEPALIVE_S)


class _FastOnceItPays(httpx.AsyncBaseTransport):
    """Leaves the first requests to httpx: a process that makes few is over sooner than the faster one is imported."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._plain = _plain(context)
        self._later: httpx.AsyncBaseTransport | None = None
        self._sent = 0

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._sent += 1
        if self._sent >= _PAYS_FROM and self._later is None:
            self._later = _fast(self._context)
        return await (self._later or self._plain).handle_async_request(request)

    @override
    async def aclose(self) -> None:
        await self._plain.aclose()
        if self._later is not None:
            await self._later.aclose()


class _Proxied(httpx.AsyncBaseTransport):
    """Leaves to httpx which proxy of the environment stands before which address."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._client = httpx.AsyncClient(verify=context, trust_env=True, limits=_LIMITS)

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._client.send(request, stream=True)

    @override
    async def aclose(self) -> None:
        await self._client.aclose()


class _WithQuery(httpx.AsyncBaseTransport):
    """Adds the query of the base address, which may hold a token, where nobody logs it."""

    def __init__(self, inner: httpx.AsyncBaseTransport, query: str) -> None:
        self._inner = inner
        self._query = query

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_with(query=self._query.encode())
        sent = httpx.Request(
            request.method, url, headers=request.headers, stream=request.stream, extensions=request.extensions
        )
        return await self._inner.handle_async_request(sent)

    @override
    async def aclose(self) -> None:
        await self._inner.aclose()
