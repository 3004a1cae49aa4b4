"""A stage that gives something else than its port promises, as after a forgotten `return`, is named; the turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from bumble_core import Message, ToolResult, assistant, tool_message, user
from bumble_core.types.inference import Completion, ModelInfo, ModelRef, Profile
from bumble_core.types.surfaces import Answer, Delivery
from bumble_core.types.turn import Route
from tests.pieces import Tools, add, calling, calling_all, contents, filling, quick

Build = Callable[..., Any]
MODEL = ModelRef(provider="scripted", model="model")
NO_MODEL = Route(profile=Profile(name="p", max_tokens=9), models=(), decided_by="forced", reason="")


class Gives:
    """Any stage with one verb: it gives `answer`."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def route(self, input: Any) -> Any:
        return self._answer

    async def judge(self, turn: Any) -> Any:
        return self._answer

    async def compact(self, state: Any) -> Any:
        return self._answer


class Yields:
    """An inference or a tool runner that gives `answer`."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        yield self._answer

    async def run(self, calls: Any, turn: Any) -> AsyncGenerator[Any, None]:
        yield self._answer


class Lingers(Yields):
    """A provider, or a tool runner, whose stream stays open after all that was to come, and does not like to close."""

    name = "lingering"

    async def stream(self, request: Any, model: str = "") -> AsyncGenerator[Any, None]:
        async for item in self.run((), None):
            yield item

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    async def run(self, calls: Any, turn: Any) -> AsyncGenerator[Any, None]:
        try:
            yield self._answer
            await asyncio.sleep(600)
        finally:
            await asyncio.sleep(600)


class Board:
    name = "board"
    takes_drafts = False

    def __init__(self, delivery: Any, answer: Any) -> None:
        self._delivery, self._answer = delivery, answer

    async def draft(self, delta: Any, turn: Any) -> None: ...
    async def withdraw(self, turn: Any) -> None: ...

    async def deliver(self, text: str, turn: Any) -> Any:
        return self._delivery

    async def ask(self, question: Any, turn: Any) -> Any:
        return self._answer


@pytest.mark.parametrize(
    ("router", "reason"),
    [(Gives(None), "the router gave NoneType, expected a Route"), (Gives(NO_MODEL), "a route without a model")],
    ids=["nothing", "no-model"],
)
async def test_a_router_without_an_answer_leaves_the_turn_to_the_default(
    runtime: Build, router: Any, reason: str
) -> None:
    built, _ = runtime(assistant("Hello."), plugins={"own": filling(router=router)})
    async with built:
        turn = await built.answer("hi")
    assert (turn.status, turn.text) == ("done", "Hello.")
    assert reason in turn.route.reason


async def test_a_judge_without_an_answer_lets_the_turn_end(runtime: Build) -> None:
    built, _ = runtime(assistant("Hello."), plugins={"own": filling(judge=Gives(None))})
    async with built:
        turn = await built.answer("hi")
    assert (turn.status, turn.text) == ("done", "Hello.")
    assert "the judge gave NoneType, expected a Verdict" in turn.verdicts[0].reason


async def test_a_compactor_without_an_answer_changes_nothing(runtime: Build) -> None:
    small = {"max_context_tokens": 2000}
    built, _ = runtime(
        assistant("a" * 3000),
        assistant("There are fifteen hundred of them."),
        plugins={"own": filling(compactor=Gives(None))},
        cognition=small,
    )
    async with built:
        await built.answer("b" * 1500)
        turn = await built.answer("c" * 1500)
    assert (turn.status, turn.text) == ("done", "There are fifteen hundred of them.")


async def test_a_tool_runner_without_an_answer_leaves_calls_that_failed(runtime: Build) -> None:
    plugins = {"own": Tools(add), "runner": filling(tool_runner=Yields(None))}
    built, _ = runtime(calling("add", a=1, b=1), assistant("I see."), plugins=plugins)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, contents(turn.messages)) == ("done", ["the tool runner gave no result"])


async def test_a_model_whose_stream_stays_open_holds_up_nothing(runtime: Build) -> None:
    said = Completion(message=assistant("Hello."), finish="stop", model=MODEL)
    plugins = {"own": filling(providers=[Lingers(said)])}
    built, _ = runtime(plugins=plugins, agent={"models": ["lingering:m"]})
    async with built, asyncio.timeout(60):
        turn = await built.answer("hi")
    assert (turn.status, turn.text) == ("done", "Hello.")


async def test_a_tool_runner_whose_stream_stays_open_holds_up_nothing(runtime: Build) -> None:
    ran = ToolResult(call_id="c1", name="quick", content="q")
    plugins = {"own": Tools(quick), "runner": filling(tool_runner=Lingers(ran))}
    built, _ = runtime(calling_all("quick"), assistant("I see."), plugins=plugins)
    async with built, asyncio.timeout(60):
        turn = await built.answer("go")
    assert (turn.text, contents(turn.messages)) == ("I see.", ["q"])


async def test_a_result_made_without_care_fails_its_own_call_alone(runtime: Build) -> None:
    async def careless() -> ToolResult:
        """Give a result that is none."""
        return ToolResult.model_construct(call_id="", name="", content=None)

    replies = (calling_all("careless", "quick"), assistant("I see."))
    built, _ = runtime(*replies, plugins={"own": Tools(careless, quick)})
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text) == ("done", "I see.")
    assert contents(turn.messages) == ["the tool gave a result that is none: see `content`", "q"]


async def test_a_surface_that_says_nothing_of_a_delivery_has_not_delivered(runtime: Build) -> None:
    built, _ = runtime(assistant("Hello."))
    async with built:
        turn = await built.answer("hi", surface=Board(None, Answer(answered=False)))
    assert (turn.status, turn.delivered) == ("failed", ())
    assert "`deliver` gave NoneType, expected a Delivery" in turn.error


async def test_a_surface_that_gives_no_answer_has_not_agreed(runtime: Build) -> None:
    built, _ = runtime(
        calling("add", a=1, b=1), assistant("I see."), plugins={"own": Tools(add)}, tools={"ask": ["add"]}
    )
    async with built:
        turn = await built.answer("go", surface=Board(Delivery(delivered=True), None))
    assert (turn.status, contents(turn.messages)) == ("done", ["nobody could be asked to approve this call"])


RESULT = tool_message(ToolResult(call_id="c", name="n", content="x"))


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (user("I am the user."), "of the role `user`"),
        (RESULT, "of the role `tool`"),
        (Message(role="assistant", parts=RESULT.parts, source="model"), "with results of tools"),
    ],
    ids=["user", "tool", "results"],
)
@pytest.mark.parametrize("fills", ["provider", "inference"])
async def test_a_reply_in_somebody_elses_name_is_none(runtime: Build, message: Message, said: str, fills: str) -> None:
    reply = Completion(message=message, finish="stop", model=MODEL)
    plugins = {"own": filling(inference=Yields(reply))} if fills == "inference" else {}
    built, _ = runtime(reply, plugins=plugins)
    async with built:
        turn = await built.answer("hi")
    assert (turn.status, [each.role for each in turn.messages if each.role != "assistant"]) == ("failed", ["user"])
    assert said in turn.error


async def test_a_stream_of_something_else_is_a_failure_of_inference(runtime: Build) -> None:
    built, _ = runtime(plugins={"own": filling(inference=Yields(None))})
    async with built:
        turn = await built.answer("hi")
    assert turn.status == "failed"
    assert "inference gave NoneType, expected a Delta" in turn.error
