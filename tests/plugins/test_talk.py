"""The tools for talking."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from bumble_talk import TalkPlugin
from pydantic import JsonValue

from bumble_core import PluginConfig, ToolCall, ToolError, ToolResult
from bumble_core.types.inference import ModelRef, Profile
from bumble_core.types.messages import user
from bumble_core.types.turn import Limits, Route, TurnContext, TurnInput

MODELS = (ModelRef(model="m"),)
TURN = TurnContext.begin(
    TurnInput(session_id="s", message=user("hi"), models=MODELS, started=datetime(2026, 1, 1, tzinfo=UTC)),
    Route(profile=Profile(name="reflex", max_tokens=9), models=MODELS, decided_by="forced", reason="test"),
    Limits(max_steps=6, max_pushbacks=2, max_auxiliary_calls=12, deadline_s=60),
)


class SleepNoting:
    """A clock that does not wait and remembers how long it was asked to."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


async def call(name: str, clock: SleepNoting | None = None, **arguments: JsonValue) -> ToolResult:
    tools = {tool.spec.name: tool for tool in TalkPlugin(PluginConfig()).bumble_tools(clock or SleepNoting())}
    return await tools[name].call(ToolCall(id="c", name=name, arguments=arguments), TURN)


def test_four_tools_are_offered_and_none_is_work() -> None:
    tools = TalkPlugin(PluginConfig()).bumble_tools(SleepNoting())
    assert [(tool.spec.name, tool.is_work) for tool in tools] == [
        ("say", False),
        ("think", False),
        ("wait", False),
        ("end_turn", False),
    ]


async def test_say_hands_its_message_to_the_kernel() -> None:
    result = await call("say", message="Done: 3 files.\n")
    assert (result.said, result.ends_turn, result.call_id) == ("Done: 3 files.\n", False, "c")


@pytest.mark.parametrize("message", ["", " \n\t"])
async def test_an_empty_message_is_not_said(message: str) -> None:
    with pytest.raises(ToolError, match="`message` is empty"):
        await call("say", message=message)


async def test_think_says_nothing() -> None:
    result = await call("think", thought="hm")
    assert (result.content, result.said) == ("noted, 2 characters; now act on it", "")


@pytest.mark.parametrize(("asked", "waited"), [(-3, 1), (0.5, 1), (1, 1), (2.5, 2.5), (15, 15), (1e9, 15)])
async def test_wait_sleeps_on_the_clock_between_one_and_fifteen_seconds(asked: float, waited: float) -> None:
    clock = SleepNoting()
    result = await call("wait", clock, seconds=asked)
    assert (clock.slept, result.content) == ([waited], f"waited {waited:g} s")


async def test_end_turn_asks_for_the_end_and_keeps_the_reason() -> None:
    result = await call("end_turn", reason="all told")
    assert (result.ends_turn, result.content) == (True, "asked to end the turn: all told")


async def test_end_turn_needs_no_reason() -> None:
    assert (await call("end_turn")).ends_turn
