"""Ask an Ollama server."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog

from bumble_core.chat import BodyEncoder, TokenEstimate
from bumble_core.errors import InvalidRequest, MalformedReply
from bumble_core.http import HttpClient, Learned, Reply, Server, parse_object, read_reply, with_retries
from bumble_core.ports import Clock, Files
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request

from .reply import OllamaReply
from .requests import encode_fields, encode_message

log = structlog.get_logger(__name__)

_LISTING = {"connect_timeout_s": 2.0, "first_byte_timeout_s": 10.0, "timeout_s": 15.0}
_LARGEST_LISTING = 8 * 1024 * 1024  # bytes
_REFUSED = {  # what a model cannot do, as the server words it
    "think": re.compile(r"does not support thinking|invalid think value"),
    "tools": re.compile(r"does not support tools"),
}


class Endpoint:
    """One server. Connections last as long as it does; what its models cannot do is kept in the home."""

    def __init__(
        self, name: str, settings: HttpSettings, clock: Clock, home: Path, files: Files, *, needs_key: bool = False
    ) -> None:
        self.name = name
        self._settings = settings
        self._clock = clock
        self._client = HttpClient(_server(name, settings), settings, clock, needs_key=needs_key)
        self._learned = Learned(home, files)
        self._estimate = TokenEstimate()
        self._encoder = BodyEncoder(encode_message)

    @property
    def address(self) -> str:
        return self._client.address.base

    def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        ref = ModelRef(provider=self.name, model=model)
        return with_retries(partial(self._ask, request, ref), ref, self._settings, self._clock)

    async def models(self) -> tuple[ModelInfo, ...]:
        settings = self._settings.model_copy(update=_LISTING)
        async with self._client.send("GET", "api/tags", settings=settings) as reply:
            listing = parse_object((await reply.read_all(_LARGEST_LISTING)).decode("utf-8", "replace"), reply.server)
            entries = listing.get("models")
            if not isinstance(entries, list):
                raise MalformedReply(f"{reply.server} answered a list of models without `models`")
        known = [each for each in entries if isinstance(each, Mapping) and isinstance(each.get("name"), str)]
        default = self._settings.default_model or (known[0]["name"] if known else None)
        return tuple(self._info(each, default) for each in known)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, request: Request, ref: ModelRef, deadline: float) -> AsyncGenerator[Delta | Completion, None]:
        async with AsyncExitStack() as stack:
            reply = await self._accepted(stack, request, ref.model, deadline)
            parser = OllamaReply(ref, reply.server, self._estimate(request))
            items = await stack.enter_async_context(aclosing(read_reply(reply, parser)))
            async for item in items:
                yield item

    async def _accepted(self, stack: AsyncExitStack, request: Request, model: str, deadline: float) -> Reply:
        """Send the request; what the model cannot do is left out, and asked for no more.

        Tools that must be called are not left out: who asked knows another way.
        """
        whole = encode_fields(request, model)
        while True:
            refused = await self._learned.of(self.address, model)
            body = {key: value for key, value in whole.items() if key not in refused}
            content = self._encoder(body, request.messages)
            sent = self._client.send("POST", "api/chat", content, model=model, deadline=deadline)
            try:
                return await stack.enter_async_context(sent)
            except InvalidRequest as error:
                found = next(
                    (key for key, wording in _REFUSED.items() if key in body and wording.search(str(error))), ""
                )
                if not found or (found == "tools" and request.tool_choice == "required"):
                    raise
                await self._learned.add(self.address, model, found)
                log.warning("model.lacks", server=self.name, model=model, lacking=found)

    def _info(self, entry: Mapping[str, Any], default: str | None) -> ModelInfo:
        size = entry.get("size")
        return ModelInfo(
            ref=ModelRef(provider=self.name, model=entry["name"]),
            size=size if isinstance(size, int) else None,
            is_default=entry["name"] == default,
        )


def _server(name: str, settings: HttpSettings) -> Server:
    is_local = urlsplit(settings.base_url).hostname in ("localhost", "127.0.0.1", "::1")
    key = settings.api_key_env
    return Server(
        name=name,
        key_hint=f"set `{key}` to a valid key" if key else "name its key with `api_key_env`",
        start_hint="start it with `ollama serve`" if is_local else "",
        models_hint="get it with `ollama pull {model}`" if not key else "`bumble models list` shows what there is",
    )
