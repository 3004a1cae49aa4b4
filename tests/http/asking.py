"""Requests to providers, and what came back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from bumble_ollama import OllamaProvider
from bumble_openai import OpenAIProvider

from bumble_core.errors import InferenceError
from bumble_core.http.transports import is_fast_installed
from bumble_core.ports import Provider
from bumble_core.types.inference import Completion, Delta, ModelRef, Profile, Request, ToolSpec
from bumble_core.types.messages import Message, user

NO_HOME = Path("no-such-home")  # what a provider learns is kept only where there is a home
READ_NOTE = ToolSpec(name="read_note", description="Read.", parameters={"type": "object", "properties": {}})

TRANSPORTS = [
    pytest.param({"fast_transport": False}, id="httpx"),
    pytest.param(
        {"fast_transport": True},
        id="aiohttp",
        marks=pytest.mark.skipif(not is_fast_installed(), reason="the extra `fast` is not installed"),
    ),
]
chosen_transport: dict[str, bool] = {}


def request(*messages: Message, **fields: Any) -> Request:
    given = {
        "owner": "turn_1",
        "purpose": "turn",
        "models": (ModelRef(model="m"),),
        "profile": Profile(name="reflex", max_tokens=64, temperature=0.5),
        "messages": messages or (user("hi"),),
        **fields,
    }
    return Request(**given)


async def answer(provider: Provider, asked: Request | None = None) -> tuple[str, Completion]:
    """Return the joined deltas and the completion."""
    text, done = "", None
    async with aclosing(provider.stream(asked or request(), "m")) as items:
        async for item in items:
            if isinstance(item, Completion):
                done = item
            else:
                text += item.text
    assert done is not None
    return text, done


async def failing(items: AsyncGenerator[Delta | Completion, None]) -> tuple[list[Delta | Completion], InferenceError]:
    """Return what came before the error, and the error."""
    got: list[Delta | Completion] = []

    async def drain() -> None:
        async with aclosing(items):
            async for item in items:
                got.append(item)  # noqa: PERF401

    with pytest.raises(InferenceError) as caught:
        await drain()
    return got, caught.value


@asynccontextmanager
async def closed_after(provider: Provider) -> AsyncIterator[Provider]:
    """Give `provider` and close its connections."""
    try:
        yield provider
    finally:
        if isinstance(provider, OpenAIProvider | OllamaProvider):
            await provider.aclose()
