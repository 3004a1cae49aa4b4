"""A conversation on a chat platform: what arrives, what the model learns of what did not, who is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bumble_core import Runtime, ToolCall, assistant
from bumble_core.ports import Surface
from bumble_core.testing import BrokenScript, ChatSurface, ScriptedProvider
from bumble_core.types.messages import Message
from bumble_core.types.turn import Turn
from tests.pieces import Tools, add, contents, statuses

Build = Callable[..., tuple[Runtime, ScriptedProvider]]
ADDS = ToolCall(name="add", arguments={"a": 1, "b": 1})


def saying(*texts: str) -> Message:
    return assistant("", *(ToolCall(name="say", arguments={"message": text}) for text in texts))


async def talk(runtime: Build, chat: ChatSurface, *replies: Message, **sections: Any) -> tuple[Turn, ScriptedProvider]:
    built, script = runtime(*replies, plugins={"own": Tools(add)}, **sections)
    async with built:
        return await built.answer("go on", surface=chat), script


def test_it_is_a_surface() -> None:
    assert isinstance(ChatSurface(), Surface)


async def test_text_beside_tool_calls_is_not_shown(runtime: Build) -> None:
    chat = ChatSurface()
    turn, _ = await talk(runtime, chat, assistant("I shall add them.", ADDS), assistant("It is 2."))
    assert chat.delivered == list(turn.delivered) == ["It is 2."]


async def test_what_is_said_arrives_in_the_order_of_the_calls(runtime: Build) -> None:
    chat = ChatSurface(slow={1: 0.05, 2: 0.02})
    await talk(runtime, chat, saying("One.", "Two.", "Three."), assistant("", ToolCall(name="end_turn")))
    assert chat.delivered == ["One.", "Two.", "Three."]


@pytest.mark.parametrize(
    ("problem", "told"),
    [("flood control", "not delivered: flood control"), (OSError("gone"), "not delivered: OSError: gone")],
    ids=["reported", "raised"],
)
async def test_the_model_is_told_of_a_delivery_that_failed(runtime: Build, problem: Any, told: str) -> None:
    chat = ChatSurface(fails={2: problem})
    turn, script = await talk(runtime, chat, saying("One.", "Two."), assistant("", ADDS), assistant("It is 2."))
    assert chat.delivered == list(turn.delivered) == ["One.", "It is 2."]
    assert statuses(script.requests[1].messages) == ["ok", "error"]
    assert told in contents(script.requests[1].messages)[1]


async def test_words_that_got_lost_can_be_said_again(runtime: Build) -> None:
    chat = ChatSurface(fails={1: "flood control"})
    turn, _ = await talk(runtime, chat, saying("One."), saying("One."), assistant("I said it."))
    assert chat.delivered == list(turn.delivered) == ["One."]


async def test_closing_text_is_not_shown_when_all_was_said_and_nothing_done(runtime: Build) -> None:
    chat = ChatSurface()
    turn, script = await talk(runtime, chat, saying("Hello!"), assistant("I have greeted them."))
    assert (chat.delivered, turn.status, len(script.requests)) == (["Hello!"], "done", 2)


async def test_closing_text_after_work_is_shown(runtime: Build) -> None:
    chat = ChatSurface()
    await talk(runtime, chat, saying("I look."), assistant("", ADDS), assistant("It is 2."))
    assert chat.delivered == ["I look.", "It is 2."]


@pytest.mark.parametrize(
    ("answers", "status"),
    [(["yes"], "ok"), (["no"], "refused"), (["perhaps"], "refused"), ([], "refused")],
    ids=["yes", "no", "neither", "nobody-answers"],
)
async def test_a_call_that_is_asked_about_runs_only_after_a_yes(
    runtime: Build, answers: list[str], status: str
) -> None:
    chat = ChatSurface(answers=answers)
    turn, _ = await talk(runtime, chat, assistant("", ADDS), assistant("So be it."), tools={"ask": ["add"]})
    assert [question.text for question in chat.questions] == ["Run add(a=1, b=1)?"]
    assert (statuses(turn.messages), chat.delivered) == ([status], ["So be it."])


async def test_each_question_takes_the_next_answer(runtime: Build) -> None:
    chat = ChatSurface(answers=["yes", "no"])
    other = ToolCall(name="add", arguments={"a": 2, "b": 2})
    replies = [assistant("", ADDS), assistant("", other), assistant("", ADDS), assistant("Done.")]
    turn, _ = await talk(runtime, chat, *replies, tools={"ask": ["add"]})
    assert statuses(turn.messages) == ["ok", "refused", "refused"]


async def test_a_slow_answer_does_not_use_up_the_time_of_the_call(runtime: Build) -> None:
    chat = ChatSurface(answers=["yes"], answers_after_s=0.2)
    turn, _ = await talk(runtime, chat, assistant("", ADDS), assistant("2"), tools={"ask": ["add"], "timeout_s": 0.1})
    assert statuses(turn.messages) == ["ok"]


@pytest.mark.parametrize("sends", [lambda chat: chat.draft(None, None), lambda chat: chat.withdraw(None)])
async def test_a_draft_breaks_the_test(sends: Any) -> None:
    with pytest.raises(BrokenScript, match="draft"):
        await sends(ChatSurface())
