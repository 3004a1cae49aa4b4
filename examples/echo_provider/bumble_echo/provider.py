"""Ask an echo server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from bumble_core.chat import ChatAssembler, TokenEstimate, encode_json, encode_request
from bumble_core.errors import InferenceError
from bumble_core.http import HttpClient, Server, SseObjects, parse_object, read_reply, with_retries
from bumble_core.ports import Clock
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request

_LARGEST_LISTING = 1024 * 1024  # bytes


class EchoProvider:
    """One server."""

    name = "echo"

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._estimate = TokenEstimate()
        self._client = HttpClient(Server(name=self.name), settings, clock)

    def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        ref = ModelRef(provider=self.name, model=model)
        return with_retries(partial(self._ask, request, ref), ref, self._settings, self._clock)

    async def models(self) -> tuple[ModelInfo, ...]:
        async with self._client.send("GET", "echo/models") as reply:
            listing = parse_object((await reply.read_all(_LARGEST_LISTING)).decode(), reply.server)
        return tuple(ModelInfo(ref=ModelRef(provider=self.name, model=each["id"])) for each in listing["data"])

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, request: Request, ref: ModelRef, deadline: float) -> AsyncGenerator[Delta | Completion, None]:
        body = encode_json(encode_request(request, ref.model))
        async with self._client.send("POST", "echo/chat", body, model=ref.model, deadline=deadline) as reply:
            answer = ChatAssembler(ref, partial(self._estimate, request), reply.server)
            async with aclosing(read_reply(reply, EchoReply(answer, SseObjects(reply.server)))) as items:
                async for item in items:
                    yield item


class EchoReply:
    """Understands the bytes of a reply: `objects` finds the chunks in them, `answer` puts the chunks together."""

    def __init__(self, answer: ChatAssembler, objects: SseObjects) -> None:
        self._answer, self._objects = answer, objects
        self._spoilt = False

    @property
    def finished(self) -> bool:
        return self._answer.finished

    @property
    def done(self) -> bool:
        return self._objects.done or self._spoilt

    def feed(self, data: bytes) -> Iterator[Delta]:
        yield from self._deltas(self._objects.feed(data))

    def end(self) -> Iterator[Delta]:
        yield from self._deltas(self._objects.end())

    def completion(self) -> Completion:
        return self._answer.completion()

    def _deltas(self, chunks: Iterable[Mapping[str, Any]]) -> Iterator[Delta]:
        try:
            for chunk in chunks:
                yield from self._answer.feed(chunk)
        except InferenceError:
            if not self.finished:
                raise
            self._spoilt = True  # nothing that follows a complete answer can unsay it
