"""Ask an echo server."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

from bumble_core.chat import BodyEncoder, TokenEstimate, encode_fields
from bumble_core.http import ChatReply, HttpClient, Server, parse_object, read_reply, with_retries
from bumble_core.ports import Clock
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request

_LARGEST_LISTING = 1024 * 1024  # bytes


class EchoProvider:
    """One server."""

    name = "echo"

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._settings, self._clock = settings, clock
        self._client = HttpClient(Server(name=self.name), settings, clock)
        self._encoder, self._estimate = BodyEncoder(), TokenEstimate()

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
        body = self._encoder(encode_fields(request, ref.model), request.messages)
        async with self._client.send("POST", "echo/chat", body, model=ref.model, deadline=deadline) as reply:
            parser = ChatReply(ref, reply.server, partial(self._estimate, request))
            async with aclosing(read_reply(reply, parser)) as items:
                async for item in items:
                    yield item
