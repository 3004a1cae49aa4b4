"""What a stranger's code does wrong during a turn becomes a value; the turn and the session go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from typing_extensions import override

from bumble_core import ContractError, assistant
from bumble_core.types.inference import ToolSpec
from bumble_core.types.messages import ToolCall, ToolResult
from tests.pieces import Tools, add, calling, contents, filling, statuses

Build = Callable[..., Any]


class GivesText:
    spec = ToolSpec(name="text", description="", parameters={"type": "object"})
    is_work = True

    async def call(self, call: ToolCall, turn: Any) -> Any:
        return "not a result"


class CancelsItself(GivesText):
    async def call(self, call: ToolCall, turn: Any) -> ToolResult:
        raise asyncio.CancelledError


class Raises(GivesText):
    def __init__(self, error: BaseException) -> None:
        self._error = error

    async def call(self, call: ToolCall, turn: Any) -> ToolResult:
        raise self._error


class Mute(Exception):
    """An error that fails when it is printed."""

    @override
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (GivesText(), "expected a ToolResult"),
        (CancelsItself(), "cancelled itself"),
        (Raises(GeneratorExit()), "the tool raised GeneratorExit"),
        (Raises(Mute()), "Mute: it cannot say what is wrong"),
    ],
    ids=["gives-text", "cancels-itself", "exits-as-a-generator", "fails-to-say"],
)
async def test_tool_that_breaks_its_port_is_an_error_for_the_model(runtime: Build, tool: Any, said: str) -> None:
    built, _ = runtime(calling("text"), assistant("I see."), plugins={"own": Tools(tool)})
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text, statuses(turn.messages)) == ("done", "I see.", ["error"])
    assert said in contents(turn.messages)[0]


class SaysBlanks(GivesText):
    async def call(self, call: ToolCall, turn: Any) -> ToolResult:
        return ToolResult(call_id=call.id, name=call.name, content="looked", said=" \n")


async def test_blanks_that_a_tool_says_are_not_delivered(runtime: Build) -> None:
    built, _ = runtime(calling("text"), assistant("I see."), plugins={"own": Tools(SaysBlanks())})
    async with built:
        turn = await built.answer("go")
    assert (turn.delivered, contents(turn.messages)) == (("I see.",), ["looked"])


class Runner:
    """A tool runner that answers a call nobody made, then fails."""

    async def run(self, calls: tuple[ToolCall, ...], turn: Any) -> AsyncGenerator[ToolResult, None]:
        yield ToolResult(call_id="nobody", name="add", content="7")
        raise RuntimeError("runner")


async def test_tool_runner_that_fails_leaves_no_call_without_a_result(runtime: Build) -> None:
    plugins = {"own": Tools(add), "runner": filling(tool_runner=Runner())}
    built, _ = runtime(calling("add", a=1, b=1), assistant("I see."), plugins=plugins)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, contents(turn.messages)) == ("done", ["the tool runner gave no result"])


class BadInference:
    """Fails like a provider's own bug would."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        if self._error is not None:
            raise self._error
        return
        yield


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("choices"), "KeyError: 'choices'"),
        (TimeoutError("socket"), "TimeoutError: socket"),
        (None, "ended without a completion"),
    ],
    ids=["bug", "bare-timeout", "says-nothing"],
)
async def test_inference_that_breaks_its_port_fails_the_turn(runtime: Build, error: Any, said: str) -> None:
    built, _ = runtime(plugins={"bad": filling(inference=BadInference(error))})
    async with built:
        turn = await built.answer("go")
    assert turn.status == "failed"
    assert said in turn.error


async def test_provider_with_a_bug_makes_room_for_the_next_model(runtime: Build) -> None:
    agent = {"models": ["scripted:first", "scripted:second"]}
    built, script = runtime(ValueError("a bug of the provider"), assistant("second here"), agent=agent)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text, len(script.requests)) == ("done", "second here", 2)


class Flaky:
    """A system section that fails the first time it is rendered."""

    placement = "system"
    failures = 1

    def key(self, turn: Any) -> str:
        return "same"

    async def render(self, turn: Any) -> str:
        if self.failures:
            self.failures -= 1
            raise OSError("busy")
        return "Flaky says hello."


async def test_section_that_failed_once_is_rendered_again(runtime: Build) -> None:
    plugins = {"own": filling(prompt_sections=[Flaky()])}
    built, script = runtime(assistant("one"), assistant("two"), plugins=plugins, system_may_change=True)
    async with built:
        await built.answer("first")
        await built.answer("second")
    assert ["Flaky says hello." in request.messages[0].text for request in script.requests] == [False, True]


class Stuck:
    """A surface that never takes anything."""

    name = "stuck"
    takes_drafts = True

    async def draft(self, delta: Any, turn: Any) -> None:
        raise RuntimeError("no paper")

    async def withdraw(self, turn: Any) -> None:
        raise RuntimeError("no eraser")

    async def deliver(self, text: str, turn: Any) -> Any:
        raise RuntimeError("no ink")

    async def ask(self, question: Any, turn: Any) -> Any:
        raise RuntimeError("nobody")


async def test_surface_that_fails_is_a_text_that_was_not_delivered(runtime: Build) -> None:
    built, _ = runtime(assistant("lost words"))
    async with built:
        turn = await built.answer("go", surface=Stuck())
    assert (turn.status, turn.delivered) == ("failed", ())
    assert "no ink" in turn.error


class HalfASurface:
    name = "half"


async def test_what_is_no_surface_is_refused_before_the_turn_begins(runtime: Build) -> None:
    built, _ = runtime(assistant("lost words"))
    async with built:
        with pytest.raises(ContractError, match="`surface` gave HalfASurface, expected a Surface"):
            await built.answer("go", surface=HalfASurface())
        assert await built.sessions.turns() == ()
