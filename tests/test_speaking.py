"""How a person is spoken to: what counts as told, what ends a turn, what is not said twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from bumble_core import ToolCall, ToolError, assistant
from bumble_core.testing import check_prefix
from bumble_core.types.messages import Message
from bumble_core.types.surfaces import Answer, Delivery
from bumble_core.types.turn import TurnContext, Verdict
from tests.pieces import Tools, add, calling, filling, statuses

Build = Callable[..., Any]
SAYS = ToolCall(name="say", arguments={"message": "On it."})
ENDS = ToolCall(name="end_turn")
ADDS = ToolCall(name="add", arguments={"a": 1, "b": 1})


class Chat:
    """A chat platform: whole messages, of which those that `loses` names do not arrive."""

    name = "chat"
    takes_drafts = False

    def __init__(self, *loses: str, answer: str = "yes") -> None:
        self.shown: list[str] = []
        self._loses, self._answer = loses, answer

    async def draft(self, delta: Any, turn: Any) -> None:
        raise AssertionError("a chat platform takes no drafts")

    async def withdraw(self, turn: Any) -> None:
        raise AssertionError("a chat platform takes nothing back")

    async def deliver(self, text: str, turn: Any) -> Delivery:
        if text in self._loses:
            return Delivery(delivered=False, problem="flood control")
        self.shown.append(text)
        return Delivery(delivered=True)

    async def ask(self, question: Any, turn: Any) -> Answer:
        return Answer(answered=True, text=self._answer)


class Noting:
    """A judge that lets every turn end and notes what it was shown."""

    def __init__(self) -> None:
        self.seen: list[TurnContext] = []

    async def judge(self, turn: TurnContext) -> Verdict:
        self.seen.append(turn)
        return Verdict(done=True, decided_by="test", reason="enough")


def fails() -> str:
    """Fail."""
    raise ToolError("no paper")


def saying(*texts: str) -> Message:
    return assistant("", *(ToolCall(name="say", arguments={"message": text}) for text in texts))


def build(runtime: Build, *replies: Any, judge: Any = None, **sections: Any) -> Any:
    plugins = {"own": Tools(add, fails), **({"j": filling(judge=judge)} if judge else {})}
    return runtime(*replies, plugins=plugins, **sections)


async def test_words_beside_calls_are_not_shown_and_words_after_work_are(runtime: Build) -> None:
    built, _ = build(runtime, assistant("I shall add them.", ADDS), assistant("It is 2."))
    chat = Chat()
    async with built:
        turn = await built.answer("1 + 1", surface=chat)
    assert chat.shown == list(turn.delivered) == ["It is 2."]


async def test_where_messages_are_shown_as_they_come_nothing_is_said_twice(runtime: Build) -> None:
    built, script = build(runtime, saying("Hello there!"), assistant("I said hello to them."))
    chat = Chat()
    async with built:
        turn = await built.answer("Introduce us to one another", surface=chat)
    assert (chat.shown, turn.status, turn.delivered) == (["Hello there!"], "done", ("Hello there!",))
    assert "Words that you write without a tool are not shown" in script.requests[1].tail


async def test_a_streaming_surface_shows_words_after_words(runtime: Build) -> None:
    built, _ = build(runtime, saying("Hello there!"), assistant("And how are you?"))
    async with built:
        turn = await built.answer("Introduce us to one another")
    assert turn.delivered == ("Hello there!", "And how are you?")


@pytest.mark.parametrize("surface", ["none", Chat()], ids=["streaming", "messages"])
async def test_the_same_words_are_delivered_once(runtime: Build, surface: Any) -> None:
    built, _ = build(runtime, saying("It is 2."), assistant("", ADDS), saying("It is 2."), assistant("It is 2."))
    async with built:
        turn = await built.answer("1 + 1", surface=surface)
    assert (turn.status, turn.delivered) == ("done", ("It is 2.",))


async def test_words_after_a_refused_call_are_not_words_after_work(runtime: Build) -> None:
    built, _ = build(runtime, saying("Hello!"), calling("add", a="x"), assistant("I said hello."))
    chat = Chat()
    async with built:
        await built.answer("Introduce us to one another", surface=chat)
    assert chat.shown == ["Hello!"]


async def test_the_last_step_has_only_words_so_they_are_shown(runtime: Build) -> None:
    replies = [saying("a"), *[calling("think", thought=str(n)) for n in range(4)], assistant("That is all.")]
    built, _ = build(runtime, *replies, cognition={"tool_continuation_rounds": 0})
    chat = Chat()
    async with built:
        await built.answer("Introduce us to one another", surface=chat)
    assert chat.shown == ["a", "That is all."]


async def test_say_with_end_turn_costs_no_further_step(runtime: Build) -> None:
    built, script = build(runtime, assistant("", *saying("It is 2.").tool_calls, ENDS))
    async with built:
        turn = await built.answer("1 + 1")
    assert (turn.status, turn.text, len(script.requests)) == ("done", "It is 2.", 1)
    assert turn.verdicts[0].on == "end_turn"


async def test_a_step_of_delivered_words_alone_is_judged_as_an_ending(runtime: Build) -> None:
    judge = Noting()
    built, script = build(runtime, saying("One.", "Two."), judge=judge)
    async with built:
        turn = await built.answer("Introduce us to one another")
    assert (turn.status, turn.delivered, len(script.requests)) == ("done", ("One.", "Two."), 1)
    assert (turn.verdicts[0].on, judge.seen[0].said_in_a_row) == ("say", 1)


@pytest.mark.parametrize(
    ("reply", "loses"),
    [
        (assistant("", SAYS, ADDS), ()),
        (assistant("", SAYS, ToolCall(name="think", arguments={"thought": "hm"})), ()),
        (saying("On it."), ("On it.",)),
        (assistant("", SAYS, ENDS, ToolCall(name="fails")), ()),
        (assistant("", SAYS, ENDS), ("On it.",)),
        (assistant("", ENDS, ToolCall(name="nothing")), ()),
    ],
    ids=["with-work", "with-a-thought", "undelivered", "end-beside-failed-work", "end-beside-lost-words", "unknown"],
)
async def test_any_other_step_of_calls_is_no_ending(runtime: Build, reply: Message, loses: tuple[str, ...]) -> None:
    judge = Noting()
    built, _ = build(runtime, reply, calling("add", a=1, b=2), assistant("Done."), judge=judge)
    async with built:
        turn = await built.answer("go", surface=Chat(*loses))
    assert [verdict.on for verdict in turn.verdicts] == ["words"]
    assert turn.delivered[-1] == "Done."


async def test_announced_work_is_not_cut_off_and_costs_no_push_back(runtime: Build) -> None:
    replies = [saying("I look."), calling("add", a=1, b=1), saying("And again."), calling("add", a=2, b=2)]
    more = [saying("Once more."), calling("add", a=3, b=3), assistant("It is 2, 4 and 6.")]
    built, script = build(runtime, *replies, *more)
    async with built:
        turn = await built.answer("add things")
    assert (turn.status, turn.delivered[-1], len(script.requests)) == ("done", "It is 2, 4 and 6.", 7)
    assert [verdict.on for verdict in turn.verdicts if not verdict.done] == ["say", "say", "say"]


async def test_a_model_that_only_ever_speaks_comes_to_an_end(runtime: Build) -> None:
    built, script = build(runtime, saying("Hello."), saying("Hello again."))
    async with built:
        turn = await built.answer("Introduce us to one another")
    assert (turn.status, turn.delivered, len(script.requests)) == ("done", ("Hello.", "Hello again."), 2)


async def test_a_judge_that_breaks_does_not_cut_announced_work_off(runtime: Build) -> None:
    class Broken:
        async def judge(self, turn: Any) -> Any:
            raise RuntimeError("out of order")

    built, _ = build(runtime, saying("I look."), assistant("Done."), judge=Broken())
    async with built:
        turn = await built.answer("go")
    assert (turn.delivered, [verdict.done for verdict in turn.verdicts]) == (("I look.", "Done."), [False, True])


async def test_the_model_is_told_what_was_not_delivered(runtime: Build) -> None:
    built, script = build(runtime, saying("One.", "Two.", "Three."), assistant("", ADDS), assistant("Done."))
    chat = Chat("Two.")
    async with built:
        turn = await built.answer("count", surface=chat)
    assert (chat.shown, statuses(turn.messages)[:3]) == (["One.", "Three.", "Done."], ["ok", "error", "ok"])
    assert "not delivered: flood control" in [r.content for m in turn.messages for r in m.tool_results]
    assert 'already been told: "One."; "Three.".' in script.requests[1].tail
    assert "Failed: `say`." in script.requests[1].tail


async def test_the_tail_names_the_last_three_things_that_were_said_shortened(runtime: Build) -> None:
    texts = [f"{number} {'x' * 200}" for number in range(5)]
    built, script = build(runtime, saying(*texts), assistant("", ADDS), assistant("Done."))
    async with built:
        await built.answer("go", surface=Chat())
    told = script.requests[1].tail.split("already been told: ")[1].split(". Words")[0]
    assert json.loads(f"[{told.replace('; ', ', ')}]") == [f"{number} {'x' * 77}…" for number in (2, 3, 4)]
    for before, after in zip(script.requests, script.requests[1:], strict=False):
        check_prefix(before, after)


async def test_a_nudge_is_kept_nowhere(runtime: Build) -> None:
    built, script = build(runtime, calling("fails"), assistant("Sorry."), assistant("Yes."))
    async with built:
        turn = await built.answer("go")
        await built.answer("and now?")
    assert "Failed: `fails`." in script.requests[1].tail
    assert "Failed" not in "".join(message.text for message in turn.messages)
    assert "Failed" not in "".join(message.text for message in script.requests[2].messages)


async def test_the_beginnings_of_results_are_kept_for_judges(runtime: Build) -> None:
    def counts(number: int) -> str:
        """Count."""
        return f"{number}" * 400

    judge = Noting()
    replies = [*(calling("counts", number=number) for number in range(9)), calling("think", thought="hm")]
    built, _ = runtime(*replies, assistant("Done."), plugins={"own": Tools(counts), "j": filling(judge=judge)})
    async with built:
        turn = await built.answer("count")
    previews = judge.seen[0].previews
    assert [(each.tool, each.text) for each in previews] == [("counts", f"{n}" * 280) for n in range(1, 9)]
    assert turn.previews == previews


async def test_a_person_who_thinks_about_a_call_does_not_use_up_its_time(runtime: Build) -> None:
    class Slow(Chat):
        async def ask(self, question: Any, turn: Any) -> Answer:
            await asyncio.sleep(0.2)
            return await super().ask(question, turn)

    built, _ = build(runtime, assistant("", ADDS), assistant("2"), tools={"ask": ["add"], "timeout_s": 0.1})
    async with built:
        turn = await built.answer("1 + 1", surface=Slow())
    assert statuses(turn.messages) == ["ok"]
