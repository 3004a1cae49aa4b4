"""What a caller does with a turn: follow it, queue behind it, steer it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bumble_core import Message, ToolCall, assistant
from bumble_core.errors import ContextOverflow
from bumble_core.testing import check_prefix
from bumble_core.types.events import Drafted, Inferred, Judged, TurnFinished
from bumble_core.types.inference import Request
from tests.pieces import Tools, add, calling, quick, slow

Build = Callable[..., Any]


async def begun(handle: Any) -> None:
    """Wait until the model has been asked."""
    async for event in handle.events():
        if isinstance(event, Drafted | Inferred):
            return


async def test_a_message_to_a_busy_session_is_queued(runtime: Build) -> None:
    built, script = runtime(calling("quick"), assistant("A"), assistant("B"), plugins={"own": Tools(quick)})
    async with built:
        first = built.start("one")
        await begun(first)
        second = built.start("two", when_busy="queue")
        turns = [await first.result(), await second.result()]
    assert [(turn.number, turn.text) for turn in turns] == [(1, "A"), (2, "B")]
    assert [message.text for message in script.requests[2].messages[1:-1]] == ["one", "", "", "A"]


async def test_a_message_to_a_busy_session_steers_the_turn_that_runs(runtime: Build) -> None:
    built, script = runtime(calling("quick"), assistant("A, briefly"), plugins={"own": Tools(quick)})
    async with built:
        first = built.start("one")
        await begun(first)
        second = built.start("be brief", when_busy="steer")
        turn = await second.result()
    assert second is first
    assert [message.role for message in turn.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert "be brief" in script.requests[1].messages[-1].text
    check_prefix(*script.requests)


@pytest.mark.parametrize("session", ["default", "another"])
async def test_where_nothing_runs_steering_begins_a_turn(runtime: Build, session: str) -> None:
    built, _ = runtime(assistant("A"), assistant("B"))
    async with built:
        first = built.start("one", session="default")
        if session == "default":
            await first.result()
        turn = await built.answer("two", session=session, when_busy="steer")
        assert (await first.result()).messages[0].text == "one"
    assert (turn.messages[0].text, turn.session_id, len(turn.messages)) == ("two", session, 2)


async def test_words_that_come_when_the_turn_has_decided_to_end_begin_the_next(runtime: Build) -> None:
    built, _ = runtime(assistant("A"), assistant("B"))
    async with built:
        first = built.start("one")
        second = None
        async for event in first.events():
            if isinstance(event, Judged):
                second = built.start("two", when_busy="steer")
        turns = [await first.result(), await second.result()]
    texts = [message.text for turn in turns for message in turn.messages if message.role == "user"]
    assert texts == ["one", "two"]


@pytest.mark.parametrize("tries", range(8))
async def test_no_word_is_lost_whenever_it_comes(runtime: Build, tries: int) -> None:
    built, _ = runtime(calling("quick"), *[assistant("A")] * 4, plugins={"own": Tools(quick)})
    async with built:
        first, count = built.start("one"), 0
        others = []
        async for _ in first.events():
            if count == tries:
                others.append(built.start("two", when_busy="steer"))
            count += 1
        await asyncio.gather(*(handle.result() for handle in others))
        stored = await built.sessions.turns()
    texts = [message.text for turn in stored for message in turn.messages if message.role == "user"]
    assert texts == ["one", "two"]


async def test_words_that_come_during_the_very_last_step_are_read_in_the_next_turn(runtime: Build) -> None:
    def last(request: Request) -> Message:
        assert first.steer("and be brief")
        return assistant("A")

    calls = [calling("add", a=number, b=1) for number in range(5)]
    built, script = runtime(
        *calls, last, assistant("B"), plugins={"own": Tools(add)}, cognition={"tool_continuation_rounds": 0}
    )
    async with built:
        first = built.start("one")
        turn = await first.result()
        await built.answer("two")
    assert (turn.status, turn.text, turn.messages[-1].text) == ("done", "A", "and be brief")
    assert script.requests[6].messages[-1].text.startswith("and be brief\n\ntwo")


async def test_words_for_a_turn_that_is_cancelled_are_read_in_the_next(runtime: Build) -> None:
    built, script = runtime(calling("slow"), assistant("B"), plugins={"own": Tools(slow)})
    async with built:
        first = built.start("one")
        await begun(first)
        first.steer("and be brief")
        first.cancel()
        turn = await first.result()
        await built.answer("two")
    assert (turn.status, turn.messages[-1].text) == ("cancelled", "and be brief")
    assert script.requests[1].messages[-1].text.startswith("and be brief\n\ntwo")


async def test_leaving_the_stream_of_a_turn_that_was_steered_does_not_cancel_it(runtime: Build) -> None:
    built, _ = runtime(calling("quick"), assistant("A"), plugins={"own": Tools(quick)})
    async with built:
        first = built.start("one")
        await begun(first)
        stream = built.stream("two", when_busy="steer")
        await anext(stream)
        await stream.aclose()
        assert (await first.result()).status == "done"


async def test_a_stream_tells_everything_in_its_order(runtime: Build) -> None:
    says = ToolCall(name="say", arguments={"message": "On it."})
    adds = ToolCall(name="add", arguments={"a": 1, "b": 1})
    replies = [assistant("Let me see.", says, adds), ContextOverflow("too long", 1_500), assistant("It is 2.")]
    built, _ = runtime(
        assistant("Those are many words."),
        *replies,
        plugins={"own": Tools(add)},
        cognition={"history_compression": {"enabled": False}},
    )
    async with built:
        await built.answer("word " * 2_000)
        kinds = [type(event).__name__ async for event in built.stream("1 + 1")]
    head = ["TurnStarted", "Routed", "PromptCompiled", "Drafted", "Inferred", "ToolStarted", "ToolStarted"]
    assert kinds[:7] == head
    assert sorted(kinds[7:10]) == ["Said", "ToolFinished", "ToolFinished"]
    assert kinds[10:] == ["Compacted", "Drafted", "Inferred", "Judged", "Said", "TurnFinished"]


async def test_the_last_event_has_the_turn_that_answer_gives(runtime: Build) -> None:
    built, _ = runtime(assistant("A"), assistant("A"))
    async with built:
        *_, last = [event async for event in built.stream("one")]
        turn = await built.answer("two")
    assert isinstance(last, TurnFinished)
    assert (last.turn.text, last.turn.status) == (turn.text, turn.status)
