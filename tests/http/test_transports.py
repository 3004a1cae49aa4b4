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


def made(url: str, *, may_be_fast: bool, is_proxied: bool = False) -> httpx.AsyncBaseTransport:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return make_transport(Address.parse(url), context, is_proxied=is_proxied, may_be_fast=may_be_fast)


@pytest.mark.parametrize(
    ("is_proxied", "may_be_fast", "fast"),
    [(False, True, is_fast_installed()), (False, False, False), (True, True, False)],
    ids=["allowed", "turned-off", "behind-a-proxy"],
)
async def test_the_faster_transport_is_taken_where_it_may_be(is_proxied: bool, may_be_fast: bool, fast: bool) -> None:
    transport = made("http://127.0.0.1:9", may_be_fast=may_be_fast, is_proxied=is_proxied)
    await transport.aclose()
    assert (type(transport).__name__ == "FastTransport") is fast


@asynccontextmanager
async def answering(raw: bytes) -> AsyncIterator[str]:
    """Give the address of a server that answers with these bytes and hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
        transport = made(url, may_be_fast=True)
        with pytest.raises(kind):
            await transport.handle_async_request(httpx.Request("POST", url, content=b"{}"))
        await transport.aclose()


@needs_fast
async def test_a_header_that_cannot_be_sent_is_an_error_of_ours() -> None:
    async with StubServer([StubReply()]) as stub:
        transport = made(stub.url, may_be_fast=True)
        with pytest.raises(httpx.LocalProtocolError):
            await transport.handle_async_request(httpx.Request("GET", stub.url, headers={"x": "a\r\nb: c"}))
        await transport.aclose()


@needs_fast
async def test_a_server_without_tls_is_refused_over_https() -> None:
    async with StubServer([StubReply()]) as stub:
        transport = made(stub.url.replace("http://", "https://"), may_be_fast=True)
        with pytest.raises(httpx.TransportError):
            await transport.handle_async_request(httpx.Request("GET", stub.url.replace("http://", "https://")))
        await transport.aclose()
