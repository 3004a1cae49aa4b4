"""Ask a server that speaks OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog

from bumble_core.chat import BodyEncoder, TokenEstimate
from bumble_core.errors import InvalidRequest, MalformedReply
from bumble_core.http import ChatReply, HttpClient, Learned, Reply, Server, parse_object, read_reply, with_retries
from bumble_core.ports import Clock, Files
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request

from .dialects import Dialect
from .thinking import Knob

log = structlog.get_logger(__name__)

_LISTING = {"connect_timeout_s": 2.0, "first_byte_timeout_s": 10.0, "timeout_s": 15.0}
_LARGEST_LISTING = 8 * 1024 * 1024  # bytes; OpenRouter's list of all models is some 500 kB
_WINDOW_KEYS = ("max_model_len", "context_length", "loaded_context_length", "max_context_length")


class Endpoint:
    """One server. Connections last as long as it does; what its models refuse is kept in the home."""

    def __init__(
        self,
        name: str,
        settings: HttpSettings,
        clock: Clock,
        home: Path,
        files: Files,
        *,
        needs_key: bool = False,
        thinking: Knob = "auto",
    ) -> None:
        self.name = name
        self._settings = settings
        self._clock = clock
        self._client = HttpClient(_server(name, settings), settings, clock, needs_key=needs_key)
        self._dialect = Dialect(urlsplit(settings.base_url).hostname or "", thinking)
        self._learned = Learned(home, files)
        self._estimate = TokenEstimate()
        self.encoder = BodyEncoder()

    @property
    def address(self) -> str:
        return self._client.address.base

    def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        ref = ModelRef(provider=self.name, model=model)
        return with_retries(partial(self._ask, request, ref), ref, self._settings, self._clock)

    async def models(self) -> tuple[ModelInfo, ...]:
        settings = self._settings.model_copy(update=_LISTING)
        async with self._client.send("GET", "models", settings=settings) as reply:
            listing = parse_object((await reply.read_all(_LARGEST_LISTING)).decode("utf-8", "replace"), reply.server)
            entries = listing.get("data")
            if not isinstance(entries, list):
                raise MalformedReply(f"{reply.server} answered a list of models without `data`")
        known = [each for each in entries if isinstance(each, Mapping) and isinstance(each.get("id"), str)]
        default = self._settings.default_model or (known[0]["id"] if known else None)
        return tuple(self._info(each, default) for each in known)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, request: Request, ref: ModelRef, deadline: float) -> AsyncGenerator[Delta | Completion, None]:
        async with AsyncExitStack() as stack:
            reply = await self._accepted(stack, request, ref.model, deadline)
            parser = ChatReply(ref, reply.server, partial(self._estimate, request))
            items = await stack.enter_async_context(aclosing(read_reply(reply, parser)))
            async for item in items:
                yield item

    async def _accepted(self, stack: AsyncExitStack, request: Request, model: str, deadline: float) -> Reply:
        """Send the request; what the server does not accept in it is left out, and asked for no more."""
        while True:
            learned = await self._learned.of(self.address, model)
            body = self._dialect.fields(request, model, learned)
            content = self.encoder(body, request.messages)
            sent = self._client.send("POST", "chat/completions", content, model=model, deadline=deadline)
            try:
                return await stack.enter_async_context(sent)
            except InvalidRequest as error:
                refused = self._dialect.refused(error, body, learned)
                if refused is None:
                    raise
                await self._learned.add(self.address, model, refused)
                log.debug("dialect.learned", server=self.name, model=model, learned=refused)

    def _info(self, entry: Mapping[str, Any], default: str | None) -> ModelInfo:
        meta = entry.get("meta")  # llama.cpp
        size = meta.get("size") if isinstance(meta, Mapping) else None
        window = next((n for key in _WINDOW_KEYS if isinstance(n := entry.get(key), int) and n > 0), None)
        shutdown = entry.get("shutdown_date")
        return ModelInfo(
            ref=ModelRef(provider=self.name, model=entry["id"]),
            context_window=window,
            size=size if isinstance(size, int) else None,
            is_default=entry["id"] == default,
            note=f"shuts down on {shutdown}" if isinstance(shutdown, str) else "",
        )


def _server(name: str, settings: HttpSettings) -> Server:
    parts = urlsplit(settings.base_url)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if settings.api_key_env:
        key_hint = f"set `{settings.api_key_env}` to a valid key"
    elif settings.api_key_file:
        key_hint = f"check the key in `{settings.api_key_file}`"
    else:
        key_hint = "name its key with `api_key_env`"
    start = f"start the server, for example `llama-server --port {parts.port or 80} -m MODEL.gguf`" if is_local else ""
    return Server(name=name, key_hint=key_hint, start_hint=start)
