"""The checker of requests finds what breaks the prefix law, and lets pass what may change."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Literal

import pytest

from bumble_core import Runtime, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.forcing import IN_WORDS
from bumble_core.testing import BrokenScript, RequestChecker, ScriptedProvider
from bumble_core.types.inference import ModelRef, Profile, Request
from bumble_core.types.messages import Message, Text, system
from bumble_core.types.turn import TurnContext
from tests.pieces import filling

Build = Callable[..., tuple[Runtime, ScriptedProvider]]

HI, HELLO, MORE = user("hi"), assistant("Hello."), user("more")
CALL = assistant("", ToolCall(id="c", name="look"))
LONG = tool_message(ToolResult(call_id="c", name="look", content="a long output"))


def asked(
    *messages: Message, owner: str = "t1", head: str = "Be kind.", tail: str = "", purpose: str = "turn"
) -> Request:
    *before, last = messages
    with_tail = last.model_copy(update={"parts": (*last.parts, Text(text=tail))}) if tail else last
    return Request(
        owner=owner,
        purpose=purpose,
        models=(ModelRef(model="m"),),
        profile=Profile(name="reflex", max_tokens=9),
        messages=(system(head), *before, with_tail),
        tail=tail,
    )


def like(message: Message, text: str) -> Message:
    return message.model_copy(update={"parts": (Text(text=text),)})


FIRST = asked(HI, HELLO, MORE, tail="\n\nnoon")
RESULT = asked(HI, CALL, LONG)
SHORTER = LONG.model_copy(update={"parts": (LONG.tool_results[0].model_copy(update={"content": "cut"}),)})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FIRST, asked(HI, HELLO, MORE, HELLO, user("x"), owner="t2", tail="\n\none o'clock")),
        (FIRST, asked(like(HI, "[summary]"), owner="t2", head="Be stern.")),
        (FIRST, asked(user("hi"), HELLO, owner="t2", head="Be stern.")),
        (RESULT, asked(HI, CALL, SHORTER, HELLO, user("x"))),
        (FIRST, asked(HI, HELLO, MORE, head=f"Be kind.\n\n{IN_WORDS} …")),
        (asked(HI, HELLO, MORE, purpose="judge"), asked(HI, like(HELLO, "Bye."), MORE, purpose="judge")),
    ],
    ids=["goes-on", "compacted", "another-session", "results-cleared", "another-level", "not-of-a-turn"],
)
def test_requests_that_keep_their_prefix_pass(before: Request, after: Request) -> None:
    checker = RequestChecker()
    for request in (before, after):
        checker.check(request)


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (asked(HI, like(HELLO, "Good day."), MORE), "the prefix changed"),
        (asked(HI, HELLO, like(MORE, "less"), HELLO, user("x"), owner="t2"), "the prefix changed"),
        (asked(HI, HELLO, MORE, head="It is noon."), "the system prompt changed"),
        (asked(HI, HELLO, MORE, head="It is noon.", owner="t2"), "the system prompt changed"),
        (asked(HI, HELLO, assistant("Again.")), "two in a row"),
    ],
    ids=["an-answer", "words-of-the-user", "within-a-turn", "between-turns", "not-valid"],
)
def test_requests_that_break_a_law_are_found(after: Request, problem: str) -> None:
    checker = RequestChecker()
    checker.check(FIRST)
    with pytest.raises(AssertionError, match=problem):
        checker.check(after)


def test_the_system_prompt_may_change_between_turns_and_not_within_one() -> None:
    checker = RequestChecker(system_may_change=True)
    checker.check(FIRST)
    checker.check(asked(HI, HELLO, MORE, head="It is noon.", owner="t2"))
    with pytest.raises(AssertionError, match="the system prompt changed"):
        checker.check(asked(HI, HELLO, MORE, head="It is one.", owner="t2"))


class Clock:
    """What must never be: a section that tells the time above the conversation."""

    placement: Literal["system", "turn"] = "system"

    def __init__(self) -> None:
        self._hours = itertools.count(1)

    def key(self, turn: TurnContext) -> str:
        return str(next(self._hours))

    async def render(self, turn: TurnContext) -> str:
        return f"It is {next(self._hours)} o'clock."


async def test_a_scripted_model_finds_a_clock_in_the_system_prompt(runtime: Build) -> None:
    built, _ = runtime(assistant("one"), assistant("two"), plugins={"clock": filling(prompt_sections=[Clock()])})
    async with built:
        await built.answer("hi")
        with pytest.raises(BrokenScript, match="the system prompt changed"):
            await built.answer("hi")
