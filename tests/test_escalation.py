"""A turn that began by reflex and turns out to be more goes on with thought, once, and its record says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bumble_core import ToolCall, assistant, hookimpl, tool
from bumble_core.types.turn import TurnContext, Verdict

Build = Callable[..., Any]


class Desk:
    """Offers one deed and one thought."""

    @hookimpl
    def bumble_tools(self) -> list[Any]:
        return [tool(self.count_files)]

    def count_files(self) -> int:
        """Count the files."""
        return 4


class OnceAgain:
    """Sends the first words back."""

    @hookimpl
    def bumble_judge(self) -> OnceAgain:
        return self

    async def judge(self, turn: TurnContext) -> Verdict:
        return Verdict(done=turn.step > 1, decided_by="heuristic", reason="twice is better", nudge="Again.")


async def test_a_work_tool_escalates_the_steps_that_follow(runtime: Build) -> None:
    call = assistant("", ToolCall(name="count_files"))
    built, script = runtime(call, call.model_copy(update={"id": "m2"}), assistant("Four."), plugins={"desk": Desk()})
    async with built:
        turn = await built.answer("hi")
    assert [request.profile.name for request in script.requests] == ["reflex", "deliberate", "deliberate"]
    assert (turn.route.escalated_from, turn.route.escalated_because) == ("reflex", "the model called `count_files`")


async def test_a_tool_that_does_no_work_is_no_reason_to_escalate(runtime: Build) -> None:
    thought = assistant("", ToolCall(name="think", arguments={"thought": "They greet me."}))
    built, script = runtime(thought, assistant("Good morning to you!"))
    async with built:
        turn = await built.answer("hi")
    assert ([request.profile.name for request in script.requests], turn.route.escalated_from) == (["reflex"] * 2, "")


async def test_a_refusal_of_the_judge_escalates(runtime: Build) -> None:
    built, script = runtime(assistant("one"), assistant("two"), plugins={"again": OnceAgain()})
    async with built:
        turn = await built.answer("hi")
    assert [request.profile.name for request in script.requests] == ["reflex", "deliberate"]
    assert turn.route.escalated_because == "the judge sent the turn back"


async def test_the_record_of_a_turn_keeps_why_it_escalated(runtime: Build) -> None:
    built, _ = runtime(assistant("one"), assistant("two"), plugins={"again": OnceAgain()})
    async with built:
        await built.answer("hi")
        (turn,) = await built.sessions.turns()
    assert (turn.route.profile.name, turn.route.escalated_because) == ("deliberate", "the judge sent the turn back")
