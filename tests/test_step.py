"""One step: what is asked again, learnt, kept and put in front of the person."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import structlog

from bumble_core import Message, ToolCall, ToolResult, assistant, tool
from bumble_core.errors import ContextOverflow
from bumble_core.testing import RequestChecker, flatten
from bumble_core.types.events import Compacted
from bumble_core.types.inference import Completion, Delta, ModelRef, Request, ToolSpec, Usage
from bumble_core.types.turn import Verdict
from tests.pieces import Tools, add, calling_all, contents, filling, quick

Build = Callable[..., Any]
MODEL = ModelRef(provider="scripted", model="model")


class Breaks:
    """An inference that says something and then fails, after it has given the `replies`."""

    def __init__(self, error: BaseException, *replies: Message) -> None:
        self._error, self._replies = error, list(replies)
        self.failed = 0
        self._checker = RequestChecker()

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        if self._replies:
            yield Completion(message=self._replies.pop(0), finish="stop", model=MODEL)
            return
        self.failed += 1
        yield Delta(text="half ")
        raise self._error


async def test_an_overflow_after_words_were_heard_is_not_asked_again(runtime: Build) -> None:
    error = ContextOverflow("too long", 2000)
    error.partial = "half "
    inference = Breaks(error, assistant("word " * 2000))
    compression = {"history_compression": {"enabled": False}}
    built, _ = runtime(plugins={"own": filling(inference=inference)}, cognition=compression)
    async with built:
        await built.answer("first")
        turn = await built.answer("second")
    assert (turn.status, inference.failed) == ("failed", 1)


async def test_something_that_cancels_itself_is_a_failure_and_not_the_users_wish(runtime: Build) -> None:
    built, _ = runtime(plugins={"own": filling(inference=Breaks(asyncio.CancelledError()))})
    async with built:
        turn = await built.answer("hi")
    assert turn.status == "failed"
    assert "cancelled" in turn.error


async def test_a_server_that_names_a_window_larger_than_the_request_gets_a_smaller_one(runtime: Build) -> None:
    replies = [assistant("word " * 2000), ContextOverflow("too long", 1_000_000), assistant("Here.")]
    built, script = runtime(*replies, cognition={"history_compression": {"enabled": False}})
    async with built:
        await built.answer("first")
        turn = await built.answer("second")
    assert turn.text == "Here."
    assert len(flatten(script.requests[2])) < len(flatten(script.requests[1]))


@dataclass
class Counts:
    """Counts `each` for a message and `more` for the tools; remembers what it was taught."""

    each: int = 1
    more: int = 0
    learnt: list[int] = field(default_factory=list)

    def count(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], model: ModelRef | None) -> int:
        return self.each * len(messages) + (self.more if tools else 0)

    def learn(self, estimated: int, actual: int, model: ModelRef) -> None:
        self.learnt.append(actual)


@pytest.mark.parametrize(("is_estimated", "learnt"), [(True, []), (False, [50])], ids=["estimated", "counted"])
async def test_only_what_a_server_counted_is_learnt(runtime: Build, is_estimated: bool, learnt: list[int]) -> None:
    counter, usage = Counts(), Usage(input_tokens=50, estimated=is_estimated)
    reply = Completion(message=assistant("Hello."), finish="stop", model=MODEL, usage=usage)
    built, _ = runtime(reply, plugins={"own": filling(token_counter=counter)})
    async with built:
        await built.answer("hi")
    assert counter.learnt == learnt


@dataclass
class Keeps:
    """A compactor that changes nothing and remembers what it was given."""

    given: list[Any] = field(default_factory=list)

    async def compact(self, state: Any) -> Any:
        self.given.append(state)
        return state


@pytest.mark.parametrize(
    ("tokens", "is_compacted", "status"),
    [(749, False, "done"), (750, True, "done"), (999, True, "done"), (1000, True, "failed")],
    ids=["below", "at-the-threshold", "below-the-window", "at-the-window"],
)
async def test_a_request_is_compacted_from_the_threshold_and_refused_from_the_window(
    runtime: Build, tokens: int, is_compacted: bool, status: str
) -> None:
    counter = Counts(each=0, more=tokens)
    plugins = {"own": filling(token_counter=counter), "tools": Tools(add)}
    built, _ = runtime(assistant("Hello."), plugins=plugins, cognition={"max_context_tokens": 1000})
    async with built:
        events = [event async for event in built.stream("hi")]
    assert any(isinstance(event, Compacted) for event in events) is is_compacted
    assert events[-1].turn.status == status


async def test_the_compactor_knows_what_is_not_its_to_shorten(runtime: Build) -> None:
    compactor = Keeps()
    slots = filling(token_counter=Counts(each=10, more=700), compactor=compactor)
    built, _ = runtime(
        assistant("Hello."), plugins={"own": slots, "tools": Tools(add)}, cognition={"max_context_tokens": 900}
    )
    async with built:
        await built.answer("hi")
    (state,) = compactor.given
    assert state.tokens - state.overhead == 10 * len(state.messages)


class Senses:
    def __init__(self, value: float) -> None:
        self._value = value

    async def read(self, input: Any) -> dict[str, float]:
        return {"mood": self._value}


@pytest.mark.parametrize("values", [(0.9, 0.2), (0.2, 0.9)], ids=["falling", "rising"])
async def test_of_two_readings_of_one_signal_the_larger_counts(runtime: Build, values: tuple[float, ...]) -> None:
    seen: list[float] = []

    class Router:
        async def route(self, input: Any) -> Any:
            seen.append(input.signals["mood"])
            raise NotImplementedError

    plugins = {"own": filling(router=Router(), signals=[Senses(value) for value in values])}
    built, _ = runtime(assistant("Hello."), plugins=plugins)
    async with built:
        await built.answer("hi")
    assert seen == [0.9]


class Accepts:
    async def judge(self, turn: Any) -> Verdict:
        return Verdict(done=True, decided_by="heuristic", reason="anything goes")


async def test_a_turn_without_a_word_ends_with_words_of_the_kernel(runtime: Build) -> None:
    built, _ = runtime(assistant(""), plugins={"own": filling(judge=Accepts())})
    async with built:
        turn = await built.answer("hi")
    assert turn.text == "I could not finish this: I have no answer."


async def test_an_empty_reply_leaves_nothing_to_repair(runtime: Build) -> None:
    built, _ = runtime(assistant(""), assistant("Hello."), assistant("Again."))
    with structlog.testing.capture_logs() as logs:
        async with built:
            await built.answer("hi")
            await built.answer("and again")
    assert "session.repaired" not in [each["event"] for each in logs]


async def test_conversation_is_no_deed(runtime: Build) -> None:
    own = Tools(quick, tool(add, is_work=False))
    calls = assistant("", ToolCall(name="quick"), ToolCall(name="add", arguments={"a": 1, "b": 1}))
    built, _ = runtime(calls, assistant("I see."), plugins={"own": own})
    async with built:
        turn = await built.answer("go")
    results = {each.name: each.is_work for message in turn.messages for each in message.tool_results}
    assert results == {"quick": True, "add": False}


class Runs:
    """A tool runner that gives these results, by place of the call and content, with `said` to be told."""

    def __init__(self, *results: tuple[int, str], says: bool = False) -> None:
        self._results, self._says = results, says

    async def run(self, calls: tuple[ToolCall, ...], turn: Any) -> AsyncGenerator[ToolResult, None]:
        for place, text in self._results:
            said = text if self._says else ""
            yield ToolResult(call_id=calls[place].id, name=calls[place].name, content=text, said=said)


async def test_a_second_result_of_one_call_does_not_count(runtime: Build) -> None:
    plugins = {"own": Tools(quick), "runner": filling(tool_runner=Runs((0, "first"), (0, "second"), (1, "other")))}
    built, _ = runtime(calling_all("quick", "quick"), assistant("I see."), plugins=plugins)
    async with built:
        turn = await built.answer("go")
    assert contents(turn.messages) == ["first", "other"]


async def test_texts_of_one_step_reach_the_user_in_the_order_they_were_said(runtime: Build) -> None:
    runner = filling(tool_runner=Runs((1, "second"), (0, "first"), says=True))
    built, _ = runtime(
        calling_all("quick", "quick"), assistant("Done."), plugins={"own": Tools(quick), "runner": runner}
    )
    async with built:
        turn = await built.answer("go")
    assert turn.delivered[:2] == ("first", "second")
