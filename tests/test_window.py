"""A server that sizes its context per request is always asked for the same size."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from bumble_core import assistant, user
from bumble_core.asking import complete
from bumble_core.errors import ContextOverflow
from bumble_core.metering import MeteredInference
from bumble_core.types.inference import Completion, Delta, ModelRef, Profile, Request

REF = ModelRef(provider="scripted", model="model")


async def test_h04_an_overflow_does_not_change_the_window_that_is_asked_for(runtime: Callable[..., Any]) -> None:
    replies = [ContextOverflow("too long", 4096), assistant("Here."), assistant("Again.")]
    built, script = runtime(*replies, cognition={"max_context_tokens": 20_000})
    async with built:
        for text in ("hi", "and now?"):
            await built.answer(text)
    assert [request.context_window for request in script.requests] == [20_000] * 3


class Recording:
    """Answers everything and keeps what it was asked."""

    def __init__(self) -> None:
        self.windows: list[int] = []

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        self.windows.append(request.context_window)
        yield Completion(message=assistant("ok"), finish="stop", model=REF)


async def test_h04_requests_of_other_stages_leave_with_the_same_window() -> None:
    inner = Recording()
    meter = MeteredInference(inner, lambda event: None, 8_192)
    profile = Profile(name="reflex", max_tokens=8)
    for purpose in ("route", "compact", "job"):
        request = Request(owner="turn_1", purpose=purpose, models=(REF,), profile=profile, messages=(user("?"),))
        await complete(meter, request)
    assert inner.windows == [8_192] * 3
