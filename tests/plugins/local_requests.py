"""Ask the provider `local` with the small model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bumble_local import pull
from bumble_local.provider import LocalProvider

from bumble_core.types.inference import Completion, Delta, ModelRef, Profile, Request, ToolChoice, ToolSpec
from bumble_core.types.messages import Message, user

SAY = ToolSpec(
    name="say",
    description="Say something to the user.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)
LONG_STORY = user("Tell me a very long story about a lighthouse. Never stop.")
LONG_PROMPT = user("The sea was calm and the keeper slept. " * 300)


@asynccontextmanager
async def running() -> AsyncIterator[LocalProvider]:
    """Offer a provider; one thread is steadier than two on a machine that has other things to do."""
    pull("smollm2")
    provider = LocalProvider(threads=1)
    try:
        yield provider
    finally:
        await provider.aclose()


def asking(
    *messages: Message,
    max_tokens: int = 24,
    tools: tuple[ToolSpec, ...] = (),
    tool_choice: ToolChoice = "auto",
    window: int = 2048,
) -> Request:
    return Request(
        owner="turn_1",
        purpose="turn",
        models=(ModelRef(provider="local", model="smollm2"),),
        profile=Profile(name="reflex", max_tokens=max_tokens, temperature=0),
        messages=messages,
        tools=tools,
        tool_choice=tool_choice,
        context_window=window,
    )


async def ask(provider: LocalProvider, request: Request, model: str = "smollm2") -> tuple[list[Delta], Completion]:
    *deltas, completion = [item async for item in provider.stream(request, model)]
    assert isinstance(completion, Completion)
    return [delta for delta in deltas if isinstance(delta, Delta)], completion
