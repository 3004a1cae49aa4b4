"""A server that sizes its context per request is always asked for the same size."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from bumble_core import assistant, user
from bumble_core.asking import complete
from bumble_core.builtin.tokens import CharacterCounter
from bumble_core.errors import ContextOverflow
from bumble_core.metering import MeteredInference
from bumble_core.types.inference import Completion, Delta, ModelRef, Profile, Request
from bumble_core.types.settings import Cognition

REF = ModelRef(provider="scripted", model="model")


async def test_h04_an_overflow_does_not_change_the_window_that_is_asked_for(runtime: Callable[..., Any]) -> None:
    replies = [*(assistant("word " * 500) for _ in range(6)), ContextOverflow("too long", 2500), assistant("Here.")]
    sections = {"max_context_tokens": 20_000, "history_compression": {"enabled": False}}
    built, script = runtime(*replies, cognition=sections)
    async with built:
        turns = [await built.answer(f"question {number}") for number in range(7)]
    assert turns[-1].text == "Here."
    assert len(script.requests[-1].messages) < len(script.requests[-2].messages)
    assert {request.context_window for request in script.requests} == {20_000}


class Recording:
    """Answers everything and keeps what it was asked."""

    def __init__(self) -> None:
        self.windows: list[int] = []

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        self.windows.append(request.context_window)
        yield Completion(message=assistant("ok"), finish="stop", model=REF)


async def test_h04_requests_of_other_stages_leave_with_the_same_window() -> None:
    inner = Recording()
    meter = MeteredInference(inner, lambda event: None, Cognition(max_context_tokens=8_192), CharacterCounter())
    profile = Profile(name="reflex", max_tokens=8)
    for purpose in ("route", "compact", "job"):
        request = Request(owner="turn_1", purpose=purpose, models=(REF,), profile=profile, messages=(user("?"),))
        await complete(meter, request)
    assert inner.windows == [8_192] * 3
