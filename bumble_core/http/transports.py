"""Make the client that reaches one server: with httpx's own transport, or with the faster one where it is installed."""

from __future__ import annotations

import importlib.util
import ssl
from collections.abc import Callable

import httpx
from typing_extensions import override

from ..deferred import Deferred
from .address import Address

_KEEPALIVE_S = 60
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=_KEEPALIVE_S)


def make_client(address: Address, context: ssl.SSLContext, *, is_proxied: bool, may_be_fast: bool) -> httpx.AsyncClient:
    """Return a client for the running loop. A proxy of the environment is reached by httpx alone."""
    if is_proxied and not address.query:
        return httpx.AsyncClient(verify=context, trust_env=True, limits=_LIMITS)
    transport = _fast(context) if may_be_fast and not is_proxied and is_fast_installed() else _plain(context)
    if address.query:
        transport = _WithQuery(transport, address.query)
    return httpx.AsyncClient(transport=transport, trust_env=False)


def is_fast_installed() -> bool:
    """Tell whether the extra `fast` is there."""
    return importlib.util.find_spec("httpx_aiohttp") is not None


def _plain(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    return httpx.AsyncHTTPTransport(verify=context, limits=_LIMITS)


def _fast(context: ssl.SSLContext) -> httpx.AsyncBaseTransport:
    make: Callable[[ssl.SSLContext, float], httpx.AsyncBaseTransport] = Deferred("bumble_core.http.fast:FastTransport")
    return make(context, _KEEPALIVE_S)


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
