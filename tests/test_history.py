"""A history that every server accepts, whatever was stored."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble_core.history import GrowingHistory, merged, repair
from bumble_core.types.messages import Image, Message, Role, Text, Thinking, ToolCall, ToolResult, assistant, user

_IDS = st.sampled_from(["a", "b", "a-2", "c"])
_TEXTS = st.sampled_from(["", " ", "one", "two\nlines"])
_CALLS = st.builds(ToolCall, id=_IDS, name=st.just("quick"))
_RESULTS = st.builds(ToolResult, call_id=_IDS, name=st.just("quick"), content=_TEXTS)
_PARTS = {
    "user": st.one_of(st.builds(Text, text=_TEXTS), st.just(Image(media_type="image/png", data="AA=="))),
    "assistant": st.one_of(st.builds(Text, text=_TEXTS), st.builds(Thinking, text=_TEXTS), _CALLS),
    "tool": _RESULTS,
}


@st.composite
def messages(draw: st.DrawFn) -> Message:
    role: Role = draw(st.sampled_from(["user", "assistant", "tool"]))
    parts = draw(st.lists(st.one_of(_PARTS[role], _RESULTS) if draw(st.booleans()) else _PARTS[role], max_size=3))
    return Message(role=role, parts=tuple(parts), source="user")


HISTORIES = st.lists(messages(), max_size=12).map(tuple)


def flatten(history: tuple[Message, ...]) -> str:
    return "".join(f"\n<{message.role}>\n{message.text}" for message in history)


def result(call_id: str, content: str = "q") -> Message:
    return Message(
        role="tool",
        source="tool",
        parts=(ToolResult(call_id=call_id, name="quick", content=content),),
        id=f"r-{call_id}",
    )


def call(*ids: str) -> Message:
    return assistant("", *(ToolCall(id=id, name="quick") for id in ids))


def is_valid(history: tuple[Message, ...]) -> bool:
    waiting: list[str] = []
    seen: set[str] = set()
    for message in history:
        if message.role == "tool":
            if not waiting or [part.call_id for part in message.tool_results] != [waiting.pop(0)]:
                return False
            continue
        ids = [one.id for one in message.tool_calls]
        if waiting or message.tool_results or seen.intersection(ids) or len(set(ids)) < len(ids):
            return False
        if message.role == "assistant" and message.is_empty:
            return False
        seen.update(ids)
        waiting = ids
    return not waiting


@given(HISTORIES)
def test_a_repaired_history_is_valid(history: tuple[Message, ...]) -> None:
    assert is_valid(repair(history)[0])


@given(HISTORIES)
def test_repairing_twice_changes_nothing_more(history: tuple[Message, ...]) -> None:
    once, _ = repair(history)
    twice, problems = repair(once)
    assert twice is once
    assert problems == ()


@given(HISTORIES)
def test_repair_depends_on_nothing_but_the_messages(history: tuple[Message, ...]) -> None:
    assert repair(history) == repair(history)


@given(HISTORIES)
def test_a_valid_history_comes_back_itself(history: tuple[Message, ...]) -> None:
    repaired, _ = repair(history)
    assert (repaired is history) == is_valid(history)


@given(HISTORIES)
def test_what_people_said_survives_repair(history: tuple[Message, ...]) -> None:
    def words(of: tuple[Message, ...]) -> list[str]:
        return [message.text for message in of if message.role == "user"]

    assert words(repair(history)[0]) == words(history)


@given(HISTORIES)
def test_merged_roles_alternate_and_lose_no_words(history: tuple[Message, ...]) -> None:
    out = merged(history)
    assert all(a.role != b.role or a.role == "tool" for a, b in pairwise(out))
    assert "".join(flatten(out).split()).count("one") == "".join(flatten(history).split()).count("one")
    assert [one for m in out for one in m.tool_calls] == [one for m in history for one in m.tool_calls]


@given(HISTORIES, st.integers(0, 12))
def test_the_beginning_of_a_history_merges_to_a_beginning(history: tuple[Message, ...], length: int) -> None:
    assert flatten(merged(history)).startswith(flatten(merged(history[:length])))


@given(HISTORIES)
def test_merging_twice_changes_nothing_more(history: tuple[Message, ...]) -> None:
    once = merged(history)
    assert merged(once) is once


def test_results_in_completion_order_are_put_in_call_order_without_a_problem() -> None:
    history = (user("u"), call("a", "b"), result("b"), result("a"))
    repaired, problems = repair(history)
    assert [message.id for message in repaired[2:]] == ["r-a", "r-b"]
    assert problems == ()


def test_a_missing_result_says_interrupted_and_its_id_follows_from_the_call() -> None:
    (_, added), problems = repair((call("a"),))
    assert (added.tool_results[0].status, added.tool_results[0].call_id) == ("interrupted", "a")
    assert added == repair((call("a"), user("later")))[0][1]
    assert "call `a` of `quick`: no result" in problems[0]


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ((user("u"), result("zz")), "result of call `zz`: no call waits"),
        ((call("a"), result("a"), result("a")), "result of call `a`: no call waits"),
        ((result("a"), user("u")), "result of call `a`: no call waits"),
        ((user("u"), assistant(" ")), "an assistant message without words"),
        ((Message(role="user", parts=(ToolCall(id="a", name="quick"),), source="user"),), "a user message held calls"),
    ],
    ids=["orphan", "second-result", "result-before-all", "empty-assistant", "call-of-a-user"],
)
def test_what_does_not_belong_is_dropped_and_named(history: tuple[Message, ...], problem: str) -> None:
    repaired, problems = repair(history)
    assert len(problems) == 1
    assert problem in problems[0]
    assert sum(len(m.parts) for m in repaired) == sum(len(m.parts) for m in history) - 1


def test_a_call_id_used_twice_is_renamed_together_with_its_result() -> None:
    history = (call("a"), result("a", "first"), call("a"), result("a", "second"))
    repaired, problems = repair(history)
    assert [m.tool_results[0].content for m in repaired if m.role == "tool"] == ["first", "second"]
    assert repaired[2].tool_calls[0].id == repaired[3].tool_results[0].call_id == "a-2"
    assert problems == ("call `a` of `quick`: the id was used before; renamed it `a-2`",)


def test_a_late_result_goes_to_the_latest_call_of_its_id() -> None:
    repaired, _ = repair((call("a"), user("go on"), call("a"), result("a")))
    assert [m.tool_results[0].status for m in repaired if m.role == "tool"] == ["interrupted", "ok"]


def test_a_tool_message_with_two_results_is_taken_apart() -> None:
    both = Message(role="tool", parts=result("a").parts + result("b").parts, source="tool", id="r")
    repaired, problems = repair((call("a", "b"), both))
    assert [message.id for message in repaired[1:]] == ["r", "r-2"]
    assert "holds one result" in problems[0]


def test_repair_takes_time_in_proportion_to_the_history() -> None:
    history = tuple(message for _ in range(5_000) for message in (call("a"), result("a")))
    repaired, _ = repair(history)
    assert repaired[-1].tool_results[0].call_id == "a-5000"


def test_neighbours_are_joined_by_a_blank_line_and_keep_calls() -> None:
    out = merged((user("one"), user("two"), assistant("a"), assistant("b", ToolCall(id="c", name="quick"))))
    assert [message.text for message in out] == ["one\n\ntwo", "a\n\nb"]
    assert [one.id for one in out[1].tool_calls] == ["c"]


def test_a_picture_without_words_brings_no_blank_line() -> None:
    picture = Message(role="user", parts=(Image(media_type="image/png", data="AA=="),), source="user")
    (out,) = merged((picture, user("what is it?")))
    assert out.text == "what is it?"


@given(history=HISTORIES, cuts=st.lists(st.integers(0, 12), max_size=4))
def test_a_history_that_grew_is_repaired_like_one_that_was_always_whole(
    history: tuple[Message, ...], cuts: list[int]
) -> None:
    growing, places = GrowingHistory(), [0, *sorted(cuts), len(history)]
    for start, end in pairwise(places):
        growing.add(history[start:end])
        growing.repaired()
    whole = GrowingHistory()
    whole.add(history)
    assert growing.repaired() == whole.repaired()


def test_a_new_id_is_none_that_the_history_has() -> None:
    history = (call("a"), result("a"), call("a-2"), result("a-2"), call("a"), result("a"))
    repaired, _ = repair(history)
    assert [each.id for message in repaired for each in message.tool_calls] == ["a", "a-2", "a-3"]


def test_what_is_joined_with_a_pinned_message_is_pinned() -> None:
    pinned = user("b").model_copy(update={"pinned": True})
    assert [message.pinned for message in merged((user("a"), pinned, user("c")))] == [True]


def test_an_empty_text_does_not_swallow_the_blank_line_between_two_messages() -> None:
    second = Message(role="user", parts=(Text(text=""), Text(text="b")), source="user")
    assert merged((user("a"), second))[0].text == "a\n\nb"
