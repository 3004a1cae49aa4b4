"""A turn that is stopped, by a person or by the clock, keeps what came and leaves a session that works."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import structlog
import yaml

from bumble_core import Message, ToolCall, ToolResult, assistant, hookimpl, tool_message, user
from bumble_core.builtin.surfaces import NoSurface
from bumble_core.testing import check_request
from bumble_core.types.events import Drafted, Inferred, Judged, TurnFinished
from bumble_core.types.inference import ModelRef, ToolSpec
from bumble_core.types.turn import TurnInput
from tests.pieces import Tools, add, calling, calling_all, quick, slow, statuses

Build = Callable[..., Any]
CASES = Path(__file__).parent / "cases" / "cases.yaml"


def case(name: str) -> Any:
    return next(c for c in yaml.safe_load(CASES.read_text(encoding="utf-8"))["cases"] if c["id"] == name)


H24 = case("H24_cancel_during_tools")


def stored_message(raw: dict[str, Any]) -> Message:
    """Return a message of the case's damaged file."""
    if raw["role"] == "tool":
        return tool_message(ToolResult(call_id=raw["tool_call_id"], name="", content=raw["content"]))
    calls = (ToolCall(id=each["id"], name=each["function"]["name"]) for each in raw.get("tool_calls", ()))
    return assistant("", *calls) if raw["role"] == "assistant" else user(raw["content"])


async def test_case_h24_a_damaged_history_is_sent_valid(runtime: Build) -> None:
    asked, *others = map(stored_message, H24["then"]["also_a_damaged_file"]["history"])
    at, models = datetime(2026, 3, 1, tzinfo=UTC), (ModelRef(provider="scripted", model="model"),)
    built, script = runtime(assistant("Fine."))
    async with built:
        await built.sessions.begin(TurnInput(id="t", session_id="s", message=asked, models=models, started=at))
        for message in others:
            await built.sessions.append("t", message)
        with structlog.testing.capture_logs() as logs:
            await built.answer("go on", session="s")
    check_request(script.requests[0])
    results = [each for message in script.requests[0].messages for each in message.tool_results]
    assert [(each.call_id, "interrupted" in each.content) for each in results] == [("x1", True)]
    assert "session.repaired" in [each["event"] for each in logs if each["log_level"] == "warning"]


class Deaf:
    """A tool that does not listen when it is cancelled."""

    spec = ToolSpec(name="deaf", description="", parameters={"type": "object"})
    is_work = True

    def __init__(self) -> None:
        self.is_entered, self.may_end = asyncio.Event(), asyncio.Event()

    async def call(self, call: Any, turn: Any) -> Any:
        self.is_entered.set()
        while not self.may_end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.may_end.wait()


@pytest.mark.parametrize("timeout_s", [0.05, 60], ids=["its-deadline", "a-cancel"])
async def test_tool_that_does_not_listen_holds_nobody_up(runtime: Build, timeout_s: float) -> None:
    deaf = Deaf()
    replies = [calling("deaf"), assistant("The tool gave no answer in time, so there is nothing to show.")]
    built, _ = runtime(*replies, plugins={"own": Tools(deaf)}, tools={"timeout_s": timeout_s})
    begin = time.monotonic()
    async with built:
        handle = built.start("go")
        if timeout_s == 60:
            await deaf.is_entered.wait()
            handle.cancel()
        turn = await handle.result()
    assert time.monotonic() - begin < 5
    deaf.may_end.set()
    await asyncio.sleep(0.01)
    assert statuses(turn.messages) == ["timeout" if timeout_s < 60 else "cancelled"]


async def test_deadline_of_the_turn_answers_the_open_calls_and_says_so(runtime: Build) -> None:
    built, _ = runtime(
        calling_all("quick", "slow"), plugins={"own": Tools(quick, slow)}, cognition={"turn_deadline_s": 1}
    )
    begin = time.monotonic()
    async with built:
        turn = await built.answer("go")
    assert (turn.status, statuses(turn.messages)) == ("capped", ["ok", "timeout"])
    assert time.monotonic() - begin < 5  # the tool itself takes half a minute
    assert "no end within 1 s" in turn.text


async def test_cancel_before_the_turn_began_stores_nothing(runtime: Build) -> None:
    built, _ = runtime()
    async with built:
        handle = built.start("never mind")
        handle.cancel()
        turn = await handle.result()
        assert (turn.status, await built.sessions.list()) == ("cancelled", ())


async def test_cancel_while_it_waits_for_another_turn_stops_only_the_one_that_waits(runtime: Build) -> None:
    built, _ = runtime(calling("add", a=1, b=1), assistant("first"), plugins={"own": Tools(add)})
    async with built:
        first, second = built.start("one"), built.start("two")
        await asyncio.sleep(0)
        second.cancel()
        turns = [await first.result(), await second.result()]
    assert [turn.status for turn in turns] == ["done", "cancelled"]


async def test_leaving_the_stream_at_its_last_event_stores_a_turn_that_is_done(runtime: Build) -> None:
    built, _ = runtime(assistant("hello"), run_jobs=True)
    async with built:
        async for event in built.stream("hi"):
            if isinstance(event, TurnFinished):
                break
        (turn,) = await built.sessions.turns()
    assert turn.status == "done"


async def test_closing_the_runtime_stores_a_running_turn_as_cancelled(runtime: Build) -> None:
    built, _ = runtime(calling_all("slow"), plugins={"own": Tools(slow)})
    async with built:
        handle = built.start("go")
        async for event in handle.events():
            if isinstance(event, Inferred):
                break
    assert (await handle.result()).status == "cancelled"


class Moments:
    """Counts what a turn asks of its sessions and its surface, and acts at one of these moments."""

    def __init__(self, moment: int, act: Callable[[], object]) -> None:
        self.count, self._moment, self._act = 0, moment, act

    def watch(self, inner: Any) -> Any:
        """Return `inner`; the action comes while the chosen call is under way."""
        names = ("resume", "begin", "append", "finish", "draft", "withdraw", "deliver")
        methods = {name: self._watched(getattr(inner, name)) for name in names if hasattr(inner, name)}
        return type("Watched", (Passing,), methods)(inner)

    def _watched(self, method: Any) -> Any:
        async def watched(_: Any, *given: Any) -> Any:
            if self.count == self._moment:
                asyncio.get_running_loop().call_soon(self._act)
            self.count += 1
            await asyncio.sleep(0)
            return await method(*given)

        return watched


class Passing:
    """Passes on everything else."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class WatchPlugin:
    def __init__(self, moments: Moments) -> None:
        self._moments = moments

    @hookimpl(wrapper=True)
    def bumble_sessions(self) -> Any:
        return self._moments.watch((yield))


@pytest.mark.parametrize("moment", range(12))
async def test_cancel_at_any_moment_leaves_a_session_that_works(runtime: Build, moment: int) -> None:
    handles: list[Any] = []
    moments = Moments(moment, lambda: [handle.cancel() for handle in handles])
    plugins = {"own": Tools(quick), "watch": WatchPlugin(moments)}
    built, _ = runtime(calling_all("quick", "quick"), *[assistant("said")] * 3, plugins=plugins)
    async with built:
        handles.append(built.start("one", surface=moments.watch(NoSurface())))
        turn = await handles[0].result()
        stored = await built.sessions.turns()
        again = await built.answer("two")
    assert (stored, again.status) == ((turn,) if turn.number else (), "done")
    calls = [call for message in turn.messages for call in message.tool_calls]
    assert len(calls) == len(statuses(turn.messages))


async def test_words_that_come_while_the_last_answer_is_judged_are_read(runtime: Build) -> None:
    built, script = runtime(assistant("the answer"), assistant("and briefly: yes"))
    async with built:
        handle = built.start("go")
        async for event in handle.events():
            if isinstance(event, Drafted) and not handle.steering and len(script.requests) == 1:
                handle.steer("be brief")
        turn = await handle.result()
    assert turn.delivered == ("the answer", "and briefly: yes")
    assert [m.text for m in turn.messages] == ["go", "the answer", "be brief", "and briefly: yes"]


async def test_words_for_a_turn_that_has_ended_are_not_taken(runtime: Build) -> None:
    built, _ = runtime(assistant("done"))
    async with built:
        handle = built.start("go")
        await handle.result()
    assert handle.steer("too late") is False


async def test_every_reader_of_a_handle_gets_every_event(runtime: Build) -> None:
    built, _ = runtime(calling("add", a=1, b=1), assistant("2"), plugins={"own": Tools(add)})

    async def read(handle: Any) -> list[Any]:
        return [event async for event in handle.events()]

    async with built:
        handle = built.start("go")
        one, other = await asyncio.gather(read(handle), read(handle))
    assert one == other
    assert any(isinstance(event, Judged) for event in one)
