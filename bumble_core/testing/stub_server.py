"""A real HTTP server on this machine that plays scripted replies, with pauses, cuts and resets."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from typing_extensions import override

from .bodies import BodyChecker

_HEAD_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Pause:
    """Seconds in which nothing is sent."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StubReply:
    """One reply: what is sent, in which pieces, and how it ends.

    `framing` tells where the body ends by chunks, by a length, or by the end of the connection. `end` may `cut` the
    connection after the pieces, `reset` it, or leave it to `hang` until the client goes away. A length that is not
    true is set with `headers`.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Sequence[bytes | Pause] = ()
    framing: Literal["chunked", "length", "close"] = "chunked"
    end: Literal["normal", "cut", "reset", "hang"] = "normal"


@dataclass(frozen=True, slots=True, kw_only=True)
class StubRequest:
    """What a client sent. Names of headers are in lower case; `json` is None when the body is not JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    json: Any = None


Replies = Sequence[StubReply] | Callable[[StubRequest], StubReply]


class StubServer:
    """Plays `replies` in order, one per request, the last one again and again; a function is asked for each reply.

    The body of each request is read back into messages and held to the laws of histories and prefixes, in the shape of
    chat completions or of Ollama's chat; leaving the server raises an `AssertionError` for the first that breaks one.
    Pass `checks=False` to test what breaks them.

    `requests` keeps what came, `connections` how many were opened; `left_early` counts clients that went away inside
    a reply, and `abandoned` is set when the first one does. Port 0 is a free one.

        async with StubServer([StubReply(body=[b"hello"])]) as stub:
            ...  # ask stub.url
    """

    def __init__(self, replies: Replies, *, port: int = 0, checks: bool = True) -> None:
        self.requests: list[StubRequest] = []
        self.broken: list[str] = []
        self.connections = 0
        self.left_early = 0
        self.abandoned = asyncio.Event()
        self.url = ""
        self._replies = replies
        self._checks = checks
        self._checker = BodyChecker()
        self._port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, "127.0.0.1", self._port)
        host, port = self._server.sockets[0].getsockname()[:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if error is None and self.broken:
            raise AssertionError(self.broken[0])

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        reader = _Reader(limit=_HEAD_LIMIT)
        return asyncio.StreamReaderProtocol(reader, lambda _, writer: self._connected(reader, writer))

    def _connected(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: _Reader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await _read_request(reader):
                reply = self._reply(request)
                self.requests.append(request)
                if not await self._play(reply, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _reply(self, request: StubRequest) -> StubReply:
        try:
            if self._checks and request.json is not None:
                self._checker.check(request.json)
            if not isinstance(self._replies, Sequence):
                return self._replies(request)
        except (AssertionError, LookupError, TypeError, ValueError) as error:
            self.broken.append(f"{request.method} {request.path}: {error}")
            return StubReply(status=400, body=[str(error).encode()])
        return self._replies[min(len(self.requests), len(self._replies) - 1)]

    async def _play(self, reply: StubReply, reader: _Reader, writer: asyncio.StreamWriter) -> bool:
        """Send a reply; return whether the connection can take another request."""
        writer.write(_head(reply))
        for piece in reply.body:
            if isinstance(piece, Pause):
                await writer.drain()
                if await reader.gone_within(piece.seconds):
                    return self._left()
            else:
                writer.write(_chunk(piece) if reply.framing == "chunked" else piece)
                await writer.drain()
        if reply.end == "hang":
            await reader.gone.wait()
            return self._left()
        if reply.end == "reset":
            _reset(writer)
        if reply.end != "normal" or reply.framing == "close":
            return False
        writer.write(b"0\r\n\r\n" if reply.framing == "chunked" else b"")
        await writer.drain()
        return True

    def _left(self) -> bool:
        self.left_early += 1
        self.abandoned.set()
        return False


class _Reader(asyncio.StreamReader):
    """A reader that tells when the other side went away, without being read."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit=limit)
        self.gone = asyncio.Event()

    @override
    def feed_eof(self) -> None:
        super().feed_eof()
        self.gone.set()

    @override
    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self.gone.set()

    async def gone_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self.gone.wait()
        except TimeoutError:
            return False


async def _read_request(reader: asyncio.StreamReader) -> StubRequest | None:
    """Return the next request of the connection; None when it was closed instead."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip().split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return StubRequest(method=method, path=path, headers=headers, body=body, json=_parsed(body))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return body


def _head(reply: StubReply) -> bytes:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    if reply.framing == "chunked":
        headers.setdefault("transfer-encoding", "chunked")
    elif reply.framing == "length":
        headers.setdefault("content-length", str(sum(len(p) for p in reply.body if isinstance(p, bytes))))
    else:
        headers.setdefault("connection", "close")
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other side gets RST in place of FIN."""
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
