"""A plugin that calls `sys.exit` while a turn runs, or counts no tokens, has failed; the program goes on."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from bumble_core import assistant
from tests.pieces import Tools, add, calling, filling

Build = Callable[..., Any]


class Leaving:
    """Every port at once, and each of its methods ends the program."""

    name = "leaving"
    placement = "system"
    takes_drafts = True

    def notify(self, event: Any) -> None:
        sys.exit(3)

    def key(self, turn: Any) -> str:
        sys.exit(3)

    def count(self, messages: Any, tools: Any, model: Any) -> int:
        sys.exit(3)

    def learn(self, estimated: int, actual: int, model: Any) -> None:
        sys.exit(3)

    async def route(self, input: Any) -> Any:
        sys.exit(3)

    async def judge(self, turn: Any) -> Any:
        sys.exit(3)

    async def read(self, input: Any) -> Any:
        sys.exit(3)

    async def render(self, turn: Any) -> str:
        sys.exit(3)

    async def compact(self, state: Any) -> Any:
        sys.exit(3)

    async def draft(self, delta: Any, turn: Any) -> None:
        sys.exit(3)

    async def withdraw(self, turn: Any) -> None:
        sys.exit(3)

    async def deliver(self, text: str, turn: Any) -> Any:
        sys.exit(3)

    async def ask(self, question: Any, turn: Any) -> Any:
        sys.exit(3)

    async def run(self, calls: Any, turn: Any) -> AsyncGenerator[Any, None]:
        sys.exit(3)
        yield

    async def stream(self, request: Any, model: str = "") -> AsyncGenerator[Any, None]:
        sys.exit(3)
        yield

    async def models(self) -> Any:
        sys.exit(3)


LEAVING = Leaving()
STAGES = ("router", "judge", "compactor", "token_counter", "tool_runner")
COLLECTED = ("observers", "signals", "prompt_sections")


@pytest.mark.parametrize("place", [*STAGES, *COLLECTED])
async def test_turn_goes_on_where_a_stage_would_end_the_program(runtime: Build, place: str) -> None:
    offered = filling(**{place: [LEAVING] if place in COLLECTED else LEAVING})
    replies = (calling("add", a=1, b=1), assistant("two"))
    small = {"max_context_tokens": 2048, "history_compression": {"compaction_threshold_ratio": 0.1}}
    built, _ = runtime(*replies, plugins={"leaving": offered, "own": Tools(add)}, cognition=small)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text) == ("done", "two")


@pytest.mark.parametrize("place", ["inference", "providers"])
async def test_turn_fails_where_a_model_would_end_the_program(runtime: Build, place: str) -> None:
    offered = filling(**{place: [LEAVING] if place == "providers" else LEAVING})
    built, _ = runtime(plugins={"leaving": offered}, agent={"models": ["leaving:model"]})
    async with built:
        turn = await built.answer("go")
    assert (turn.status, "SystemExit: 3" in turn.error) == ("failed", True)


async def test_text_is_not_delivered_where_a_surface_would_end_the_program(runtime: Build) -> None:
    built, _ = runtime(assistant("lost words"))
    async with built:
        turn = await built.answer("go", surface=LEAVING)
    assert (turn.status, turn.delivered) == ("failed", ())


class Cancelling:
    def notify(self, event: Any) -> None:
        raise asyncio.CancelledError


async def test_observer_that_says_it_was_cancelled_does_not_cancel_the_turn(runtime: Build) -> None:
    built, _ = runtime(assistant("heard"), plugins={"own": filling(observers=[Cancelling()])})
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text) == ("done", "heard")


class CountsTo:
    def __init__(self, count: Any) -> None:
        self._count = count

    def count(self, messages: Any, tools: Any, model: Any) -> Any:
        return self._count()

    def learn(self, estimated: int, actual: int, model: Any) -> None:
        raise RuntimeError("no abacus")


def _raises() -> int:
    raise RuntimeError("no fingers")


@pytest.mark.parametrize(
    "count",
    [_raises, lambda: None, lambda: "12", lambda: -5, lambda: float("inf")],
    ids=["raises", "none", "text", "negative", "infinite"],
)
async def test_turn_goes_on_when_the_token_counter_does_not_count(runtime: Build, count: Any) -> None:
    built, _ = runtime(assistant("done"), plugins={"own": filling(token_counter=CountsTo(count))})
    async with built:
        turn = await built.answer("go")
        stored = await built.sessions.turns()
    assert (turn.status, turn.text, [each.status for each in stored]) == ("done", "done", ["done"])
