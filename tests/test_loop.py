"""One turn through the public door, with a scripted model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bumble_core import InferenceError, ToolCall, assistant, hookimpl, tool
from bumble_core.errors import ContextOverflow
from bumble_core.ports import Tool
from bumble_core.testing import check_prefix
from bumble_core.types.events import Event, Routed, ToolFinished, TurnFinished
from bumble_core.types.inference import Completion, ModelRef

Build = Callable[..., Any]


class OneTool:
    """Offers functions as tools."""

    def __init__(self, *functions: Any) -> None:
        self._functions = functions

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        return [tool(function) for function in self._functions]


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def calling(name: str, **arguments: Any) -> Any:
    return assistant("", ToolCall(name=name, arguments=arguments))


async def test_text_answer_ends_the_turn(runtime: Build) -> None:
    built, script = runtime(assistant("Hello."))
    async with built:
        turn = await built.answer("hi")
    assert (turn.status, turn.text, len(script.requests)) == ("done", "Hello.", 1)


async def test_result_of_a_tool_reaches_the_model(runtime: Build) -> None:
    built, script = runtime(calling("add", a=2, b=3), assistant("5"), plugins={"own": OneTool(add)})
    async with built:
        turn = await built.answer("2 + 3?")
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool", "assistant"]
    assert turn.messages[2].tool_results[0].content == "5"
    check_prefix(script.requests[0], script.requests[1])


async def test_prefix_stays_from_turn_to_turn(runtime: Build) -> None:
    built, script = runtime(assistant("one"), calling("add", a=1, b=1), assistant("two"), plugins={"own": OneTool(add)})
    async with built:
        await built.answer("first")
        await built.answer("second")
    for before, after in zip(script.requests, script.requests[1:], strict=False):
        check_prefix(before, after)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (ToolCall(name="add", arguments={"a": 1}), "b"),
        (ToolCall(name="ad", arguments={}), "add"),
        (ToolCall(name="add", problem="the arguments are not JSON", raw='{"a":'), "not JSON"),
    ],
    ids=["does-not-fit", "unknown-tool", "did-not-parse"],
)
async def test_half_a_call_is_refused_with_the_reason(runtime: Build, call: ToolCall, reason: str) -> None:
    built, _ = runtime(assistant("", call), assistant("sorry"), plugins={"own": OneTool(add)})
    async with built:
        turn = await built.answer("x")
    (result,) = turn.messages[2].tool_results
    assert result.status == "refused"
    assert reason in result.content


async def test_call_of_a_message_cut_by_its_length_is_refused(runtime: Build) -> None:
    cut = Completion(message=calling("add", a=1, b=1), finish="length", model=ModelRef(model="m"))
    built, _ = runtime(cut, assistant("sorry"), plugins={"own": OneTool(add)})
    async with built:
        turn = await built.answer("x")
    assert turn.messages[2].tool_results[0].status == "refused"


async def test_steps_never_exceed_the_cap_and_the_last_has_no_tools(runtime: Build) -> None:
    replies = [calling("add", a=n, b=1) for n in range(6)]
    cognition = {"tool_continuation_rounds": 0}
    built, script = runtime(*replies, plugins={"own": OneTool(add)}, cognition=cognition)
    async with built:
        turn = await built.answer("count")
    assert (turn.status, len(script.requests)) == ("capped", 6)
    assert script.requests[-1].tools == ()
    assert turn.messages[-2].tool_results[0].status == "refused"
    assert "could not finish" in turn.text


async def test_empty_reply_is_pushed_back_in_the_tail_only(runtime: Build) -> None:
    built, script = runtime(assistant(""), assistant("here"))
    async with built:
        turn = await built.answer("hello")
    assert [verdict.done for verdict in turn.verdicts] == [False, True]
    assert "seen nothing yet" in script.requests[1].tail
    assert [m.text for m in turn.messages] == ["hello", "here"]


async def test_model_that_fails_ends_the_turn_and_keeps_the_input(runtime: Build) -> None:
    built, _ = runtime(InferenceError("no route to host"), assistant("back"))
    async with built:
        turn = await built.answer("first")
        again = await built.answer("second")
    assert (turn.status, turn.error) == ("failed", "no route to host")
    assert again.status == "done"


async def test_overflow_is_compacted_once_and_asked_again(runtime: Build) -> None:
    replies = [*(assistant("word " * 200) for _ in range(20)), ContextOverflow("too long", 3000)]
    summary = assistant("A summary of everything that was said before.")
    last = [lambda request: summary if request.purpose == "compact" else assistant("fits")] * 4
    compression = {"phases": ["bounds", "summarise"]}
    built, script = runtime(*replies, *last, cognition={"history_compression": compression})
    async with built:
        for number in range(20):
            await built.answer(f"question {number}")
        turn = await built.answer("the last question")
    assert (turn.status, turn.text) == ("done", "fits")
    assert script.requests[-2].purpose == "compact"
    assert "the last question" in script.requests[-1].messages[-1].text


async def test_say_is_delivered_and_the_model_is_told(runtime: Build) -> None:
    built, script = runtime(calling("say", message="Hello there"), calling("end_turn"))
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.delivered) == ("done", ("Hello there",))
    assert script.requests[1].messages[-2].tool_results[0].content == "delivered to the user"


async def test_events_tell_the_turn_from_start_to_end(runtime: Build) -> None:
    built, _ = runtime(calling("add", a=1, b=1), assistant("2"), plugins={"own": OneTool(add)})
    async with built:
        events: list[Event] = [event async for event in built.stream("1 + 1")]
    kinds = [type(event).__name__ for event in events]
    assert kinds[0] == "TurnStarted"
    assert isinstance(events[-1], TurnFinished)
    assert {Routed, ToolFinished} <= {type(event) for event in events}
    assert kinds.count("Inferred") == 2


async def test_cancel_keeps_what_came_and_leaves_a_session_that_works(runtime: Build) -> None:
    async def slow() -> str:
        await asyncio.sleep(30)
        return "late"

    calls = assistant("", ToolCall(name="add", arguments={"a": 1, "b": 1}), ToolCall(name="slow"))
    built, script = runtime(calls, assistant("again"), plugins={"own": OneTool(add, slow)})
    async with built:
        handle = built.start("go")
        async for event in handle.events():
            if isinstance(event, ToolFinished):
                handle.cancel()
        turn = await handle.result()
        again = await built.answer("go on")
    results = [r for m in turn.messages for r in m.tool_results]
    assert (turn.status, [r.status for r in results]) == ("cancelled", ["ok", "cancelled"])
    assert again.status == "done"
    assert script.requests[-1].messages[-1].text.startswith("go on")


async def test_steering_joins_the_turn_at_its_next_step(runtime: Build) -> None:
    built, script = runtime(calling("add", a=1, b=1), assistant("done"), plugins={"own": OneTool(add)})
    async with built:
        handle = built.start("go")
        handle.steer("and be brief")
        turn = await handle.result()
    assert turn.status == "done"
    assert "and be brief" in script.requests[0].messages[-1].text


async def test_two_turns_of_a_session_do_not_interleave(runtime: Build) -> None:
    built, _ = runtime(calling("add", a=1, b=1), assistant("A"), assistant("B"), plugins={"own": OneTool(add)})
    async with built:
        one, other = built.start("first"), built.start("second")
        turns = [await one.result(), await other.result()]
    assert [turn.text for turn in turns] == ["A", "B"]
    assert [turn.number for turn in turns] == [1, 2]


def test_synchronous_door_keeps_one_loop(runtime: Build) -> None:
    built, _ = runtime(assistant("one"), assistant("two"))
    with built:
        assert [built.answer_sync("a").text, built.answer_sync("b").text] == ["one", "two"]


async def test_stage_that_breaks_does_not_break_the_turn(runtime: Build) -> None:
    class Broken:
        async def route(self, input: Any) -> Any:
            raise RuntimeError("router")

        async def judge(self, turn: Any) -> Any:
            raise RuntimeError("judge")

    class BrokenPlugin:
        @hookimpl
        def bumble_router(self) -> Any:
            return Broken()

        @hookimpl
        def bumble_judge(self) -> Any:
            return Broken()

    built, _ = runtime(assistant("fine"), plugins={"broken": BrokenPlugin()})
    async with built:
        turn = await built.answer("x")
    assert (turn.status, turn.text) == ("done", "fine")
    assert turn.route is not None
    assert "the router failed" in turn.route.reason
    assert "the judge failed" in turn.verdicts[0].reason


def test_program_that_never_closes_its_runtime_ends_cleanly(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from bumble_core import Settings, assemble, assistant, user\n"
        "from bumble_core.testing import ScriptedProvider; from tests.shipped import construct_shipped\n"
        "plugins = {**construct_shipped('router', 'judge', 'compactor'), 's': ScriptedProvider([assistant('hi')])}\n"
        "settings = Settings.model_validate({'agent': {'models': ['scripted:m']}, 'home': sys.argv[1]})\n"
        "runtime = assemble(settings, plugins=plugins, discovers=False, run_jobs=False)\n"
        "print(runtime.answer_sync('hello').text)\n"
        "async def busy():\n    while True:\n        user('x'); await asyncio.sleep(0)\n"
        "asyncio.run_coroutine_threadsafe(busy(), runtime._door._loop)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "hi\n", "")
