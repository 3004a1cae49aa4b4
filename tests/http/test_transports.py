"""What carries requests: the faster transport where it may be, with the errors of httpx."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from bumble_core.http.address import Address
from bumble_core.http.transports import is_fast_installed, make_transport
from bumble_core.testing.stub_server import StubReply, StubServer

needs_fast = pytest.mark.skipif(not is_fast_installed(), reason="the extra `fast` is not installed")


def made(url: str, *, wants_fast: bool | None, is_proxied: bool = False) -> httpx.AsyncBaseTransport:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return make_transport(Address.parse(url), context, is_proxied=is_proxied, wants_fast=wants_fast)


@pytest.mark.parametrize(
    ("is_proxied", "wants_fast", "fast"),
    [(False, True, is_fast_installed()), (False, False, False), (True, True, False)],
    ids=["wanted", "turned-off", "behind-a-proxy"],
)
async def test_the_faster_transport_is_taken_where_it_is_wanted(is_proxied: bool, wants_fast: bool, fast: bool) -> None:
    transport = made("http://127.0.0.1:9", wants_fast=wants_fast, is_proxied=is_proxied)
    await transport.aclose()
    assert (type(transport).__name__ == "FastTransport") is fast


@needs_fast
async def test_without_a_wish_few_requests_load_nothing_and_many_go_the_faster_way() -> None:
    servers: list[str] = []
    async with StubServer([StubReply()] * 17) as stub:
        transport = made(stub.url, wants_fast=None)
        for _ in range(17):
            response = await transport.handle_async_request(httpx.Request("GET", stub.url))
            servers.append(type(response.stream).__module__)
            await response.aclose()
        await transport.aclose()
    assert servers[:15] == ["httpx._transports.default"] * 15
    assert servers[15:] == ["bumble_core.http.fast"] * 2


@asynccontextmanager
async def answering(raw: bytes) -> AsyncIterator[str]:
    """Give the address of a server that answers with these bytes and hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1) != b"\x16":  # with which TLS begins: it has no headers to wait for
            await reader.readuntil(b"\r\n\r\n")
        writer.write(raw)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@needs_fast
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n", httpx.RemoteProtocolError),
        (b"", httpx.ReadError),
    ],
    ids=["no-http", "endless-header", "hung-up"],
)
async def test_errors_are_named_as_httpx_names_them(body: bytes, kind: type[Exception]) -> None:
    async with answering(body) as url:
        transport = made(url, wants_fast=True)
        with pytest.raises(kind):
            await transport.handle_async_request(httpx.Request("POST", url, content=b"{}"))
        await transport.aclose()


@needs_fast
async def test_a_header_that_cannot_be_sent_is_an_error_of_ours() -> None:
    async with StubServer([StubReply()]) as stub:
        transport = made(stub.url, wants_fast=True)
        with pytest.raises(httpx.LocalProtocolError):
            await transport.handle_async_request(httpx.Request("GET", stub.url, headers={"x": "a\r\nb: c"}))
        await transport.aclose()


@needs_fast
async def test_a_server_without_tls_is_refused_over_https() -> None:
    async with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        secure = url.replace("http://", "https://")
        transport = made(secure, wants_fast=True)
        with pytest.raises(httpx.TransportError, match=r"wrong version number|record layer failure"):
            await transport.handle_async_request(httpx.Request("GET", secure))
        await transport.aclose()
