"""Replies that are cut by their length: no call of them runs, and their words go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bumble_core import ToolCall, assistant, user
from bumble_core.history import merged
from bumble_core.testing import check_prefix
from bumble_core.types.events import Routed
from bumble_core.types.inference import Completion, ModelRef
from bumble_core.types.messages import Message, Thinking
from tests.pieces import Tools, add, calling, statuses

Build = Callable[..., Any]
REF = ModelRef(provider="scripted", model="model")


def write_file(path: str, text: str, append: bool = False) -> str:
    """Write a file."""
    return f"wrote {len(text)} characters to {path}, append={append}"


def cut(message: Message | str) -> Completion:
    made = assistant(message) if isinstance(message, str) else message
    return Completion(message=made, finish="length", model=REF)


def build(runtime: Build, *replies: Any, **sections: Any) -> Any:
    return runtime(*replies, plugins={"own": Tools(add, write_file)}, **sections)


async def test_words_that_were_cut_go_on_in_the_next_step_and_are_delivered_whole(runtime: Build) -> None:
    built, script = build(runtime, cut("The quick bro"), assistant("wn fox."), assistant("Yes."))
    async with built:
        turn = await built.answer("Which fox?")
        await built.answer("Sure?")
    assert (turn.status, turn.delivered) == ("done", ("The quick brown fox.",))
    assert [message.text for message in turn.messages] == ["Which fox?", "The quick bro", "wn fox."]
    assert "Go on exactly where it stops" in script.requests[1].tail
    assert script.requests[2].messages[2].text == "The quick brown fox."
    for before, after in zip(script.requests, script.requests[1:], strict=False):
        check_prefix(before, after)


async def test_the_stored_conversation_joins_what_was_cut(runtime: Build) -> None:
    built, _ = build(runtime, cut("The quick bro"), assistant("wn fox."))
    async with built:
        await built.answer("Which fox?")
    again, script = build(runtime, assistant("Yes."))
    async with again:
        await again.answer("Sure?")
    assert script.requests[0].messages[2].text == "The quick brown fox."


def test_only_what_continues_is_joined_without_a_gap() -> None:
    going_on = assistant("b").model_copy(update={"continues": True})
    (one, other) = merged((user("u"), assistant("a"), going_on, assistant("c")))
    assert (one.text, other.text) == ("u", "ab\n\nc")


async def test_the_first_cut_escalates_a_short_profile_once(runtime: Build) -> None:
    built, script = build(runtime, cut("One, "), cut("two, "), assistant("three."))
    async with built:
        events = [event async for event in built.stream("Count")]
        (turn,) = await built.sessions.turns()
    names = [request.profile.name for request in script.requests]
    assert names == ["reflex", "deliberate", "deliberate"]
    assert (turn.route.profile.name, turn.route.escalated_from) == ("deliberate", "reflex")
    assert [event.route.profile.name for event in events if isinstance(event, Routed)] == ["reflex", "deliberate"]
    assert turn.text == "One, two, three."


async def test_a_turn_that_is_cut_for_ever_ends_with_what_was_written(runtime: Build) -> None:
    built, script = build(runtime, *[cut(f"{number} and ") for number in range(9)])
    async with built:
        turn = await built.answer("Count")
    assert (turn.status, len(script.requests)) == ("capped", 4)
    assert turn.delivered == ("0 and 1 and 2 and 3 and",)
    assert turn.error == "the reply was cut by its length 4 times in a row"


async def test_after_three_cuts_the_model_is_told_to_write_pieces_that_fit(runtime: Build) -> None:
    replies = [cut("".join(f"{number:06}" for number in range(start, start + 500))) for start in (0, 500, 1000)]
    last = [calling("write_file", path="a.txt", text="x" * 1500), assistant("It is in a.txt.")]
    built, script = build(runtime, *replies, *last)
    async with built:
        turn = await built.answer("Write a book")
    assert "`write_file`, in pieces of at most 1500 characters, with append=true after the first" in (
        script.requests[3].tail
    )
    assert "write_file" not in script.requests[2].tail
    assert (turn.status, turn.delivered) == ("done", ("It is in a.txt.",))


@pytest.mark.parametrize("chars", [10, 300, 5000])
async def test_the_size_of_a_piece_is_measured_by_the_call_that_was_cut(runtime: Build, chars: int) -> None:
    call = ToolCall(name="write_file", problem="cut", raw="x" * chars)
    built, script = build(runtime, *[cut(assistant("", call))] * 3, assistant("I give up."))
    async with built:
        turn = await built.answer("Write a book")
    piece = max(200, chars // 2 // 100 * 100)
    assert f"pieces of at most {piece} characters" in script.requests[3].tail
    assert statuses(turn.messages) == ["refused"] * 3


async def test_without_a_tool_that_writes_the_model_is_told_to_be_brief(runtime: Build) -> None:
    built, script = runtime(cut("a"), cut("b"), cut("c"), assistant("."))
    async with built:
        await built.answer("Write a book")
    assert "End with a few short sentences" in script.requests[3].tail


async def test_a_reply_cut_while_it_was_thought_is_asked_for_again(runtime: Build) -> None:
    thought = Message(role="assistant", source="model", parts=(Thinking(text="Hmm, "),))
    built, script = build(runtime, cut(thought), assistant("42."))
    async with built:
        turn = await built.answer("Well?")
    assert (turn.status, turn.text, turn.verdicts[0].done) == ("done", "42.", True)
    assert "Say less at once" in script.requests[1].tail


async def test_a_reply_that_has_nothing_to_add_was_whole(runtime: Build) -> None:
    built, _ = build(runtime, cut("All of it."), assistant(""))
    async with built:
        turn = await built.answer("Well?")
    assert (turn.status, turn.delivered) == ("done", ("All of it.",))


async def test_words_that_were_cut_before_the_model_turned_to_tools_are_not_shown(runtime: Build) -> None:
    built, script = build(runtime, cut("Let me a"), calling("add", a=1, b=1), assistant("It is 2."))
    async with built:
        turn = await built.answer("1 + 1")
    assert turn.delivered == ("It is 2.",)
    check_prefix(script.requests[1], script.requests[2])


async def test_words_of_the_user_are_answered_after_what_was_cut(runtime: Build) -> None:
    def steers(request: Any) -> Completion:
        handle.steer("Stop!")
        return cut("On and on")

    built, _ = build(runtime, steers, assistant("I stop."))
    async with built:
        handle = built.start("Go")
        turn = await handle.result()
    assert turn.delivered == ("On and on", "I stop.")
    assert [message.text for message in turn.messages] == ["Go", "On and on", "Stop!", "I stop."]


async def test_words_that_were_cut_are_not_forced_into_a_call(runtime: Build) -> None:
    replies = [calling("add", a=1, b=1), cut("It is "), assistant("2.")]
    built, script = build(runtime, *replies, cognition={"tool_choice": "required"})
    async with built:
        turn = await built.answer("1 + 1")
    assert turn.text == "It is 2."
    assert [request.tool_choice for request in script.requests[-2:]] == ["required", "auto"]


async def test_a_reply_that_was_cut_while_it_went_in_circles_is_not_continued(runtime: Build) -> None:
    built, script = build(runtime, cut("The sea. " + "It is blue. " * 60), assistant("never asked"))
    async with built:
        turn = await built.answer("hi")
    assert (turn.status, len(script.requests), turn.route.profile.name) == ("done", 1, "reflex")
    assert turn.verdicts[-1].reason == "the reply was cut while it said the same again and again"
    assert turn.delivered[0].startswith("The sea. It is blue.")
