"""Turns in which a call is wanted, and turns whose reply breaks off, through the public door."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from bumble_core import ToolCall, assistant, hookimpl, tool
from bumble_core.errors import Overloaded
from bumble_core.ports import Tool
from bumble_core.testing import RequestChecker, check_prefix
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request
from bumble_core.types.messages import Message
from tests.http.streams import case

Build = Callable[..., Any]
H11 = case("H11")
REF = ModelRef(provider="stub", model="m")
FORCED = {"tool_choice": H11["given"]["config"]["tool_choice"]}
HELLO, NO_NOTES = "Hello there!", "You have no notes."


def list_notes() -> list[str]:
    """List the notes."""
    return []


def write_note(path: str, body: str) -> str:
    """Write a note."""
    return f"wrote {len(body)} characters to {path}"


class Offers:
    def __init__(self, *functions: Any) -> None:
        self._functions = functions

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        return [tool(function) for function in self._functions]


class Model:
    """Answers each request with what `reply` makes of it, text in pieces."""

    name = "stub"

    def __init__(self, reply: Callable[[Request], Message]) -> None:
        self._reply = reply
        self.requests: list[Request] = []
        self._checker = RequestChecker()

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        self.requests.append(request)
        message = self._reply(request)
        for piece in message.text.split():
            yield Delta(text=piece)
        yield Completion(message=message, finish="tool_calls" if message.tool_calls else "stop", model=REF)

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]


def forced(runtime: Build, model: Any, *functions: Any, **cognition: Any) -> Any:
    plugins = {"stub": model, "own": Offers(*functions)}
    built, _ = runtime(
        plugins=plugins, agent={"models": ["stub:m"]}, cognition={**FORCED, "tool_continuation_rounds": 4, **cognition}
    )
    return built


async def test_h11_words_of_a_server_that_cannot_force_tools_are_the_reply(runtime: Build) -> None:
    expected, model = H11["then"]["ignores_it"], Model(lambda _: assistant(HELLO))
    async with forced(runtime, model, list_notes) as built:
        turn = await built.answer("hi")
        again = await built.answer("hi again")
    assert (turn.status, list(turn.delivered)) == ("done", expected["visible"])
    assert len(model.requests) <= expected["requests_at_most"] + 1
    assert (again.status, again.text) == ("done", HELLO)


async def test_h11_the_next_turn_asks_a_server_that_cannot_force_tools_once(runtime: Build) -> None:
    model = Model(lambda _: assistant(HELLO))
    async with forced(runtime, model, list_notes) as built:
        await built.answer("hi")
        before = len(model.requests)
        await built.answer("hi again")
    assert (before, len(model.requests) - before) == (H11["then"]["ignores_it"]["requests_at_most"], 1)


def obeys_for_ever(request: Request) -> Message:
    if request.tool_choice == "required":
        return assistant("", ToolCall(name="list_notes"))
    return assistant(NO_NOTES)


async def test_h11_a_server_that_obeys_for_ever_comes_to_an_end(runtime: Build) -> None:
    expected, model = H11["then"]["obeys_for_ever"], Model(obeys_for_ever)
    async with forced(runtime, model, list_notes) as built:
        turn = await built.answer("hi")
    assert (turn.status, turn.text) == ("done", NO_NOTES)
    assert len(model.requests) <= expected["requests_at_most"]
    assert model.requests[-1].tools == ()


def schema_only(request: Request) -> Message:
    """Ignores tools and keeps to schemas: a list of notes, then a note, then the end."""
    if request.reply_schema is None:
        return assistant(HELLO)
    results = sum("Results of the tools" in message.text for message in request.messages)
    note = {"path": "a.txt", "body": "b"}
    calls = [("list_notes", {}), ("write_note", note), ("say", {"message": "Written."}), ("end_turn", {"reason": "ok"})]
    name, arguments = calls[min(results, 3)]
    return assistant(json.dumps({"calls": [{"name": name, "arguments": arguments}]}))


async def test_a_turn_of_several_steps_completes_at_the_schema_level(runtime: Build) -> None:
    model = Model(schema_only)
    async with forced(runtime, model, list_notes, write_note) as built:
        turn = await built.answer("write a note")
    results = [(r.name, r.status, r.content) for message in turn.messages for r in message.tool_results]
    names = ["list_notes", "write_note", "say", "end_turn"]
    assert [each[:2] for each in results] == [(name, "ok") for name in names]
    assert results[1][2] == "wrote 1 characters to a.txt"
    assert (turn.text, turn.calls["turn"], len(model.requests)) == ("Written.", 4, 5)


async def test_the_prefix_stays_at_the_schema_level_until_the_last_step(runtime: Build) -> None:
    def loops(request: Request) -> Message:
        if request.reply_schema is None:
            return assistant(HELLO)
        return assistant('{"calls": [{"name": "list_notes", "arguments": {}}]}')

    model = Model(loops)
    async with forced(runtime, model, list_notes, tool_continuation_rounds=0) as built:
        await built.answer("one")
        await built.answer("two")
    in_words = model.requests[1:]
    assert len(in_words) == 12
    for before, after in itertools.pairwise(in_words):
        check_prefix(before, after)


async def test_calls_that_are_written_as_text_are_not_shown_as_words(runtime: Build) -> None:
    model = Model(schema_only)
    async with forced(runtime, model, list_notes, write_note) as built:
        drafts = [e.delta.text async for e in built.stream("write a note") if type(e).__name__ == "Drafted"]
    assert "calls" not in "".join(drafts)


class Breaks:
    """Says half a reply, then fails or loses the connection; the second time it answers."""

    name = "scripted"

    def __init__(self, error: Exception | None) -> None:
        self._error = error
        self.requests: list[Request] = []
        self._checker = RequestChecker()

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        self.requests.append(request)
        ref = ModelRef(provider="scripted", model=model)
        if len(self.requests) > 1:
            yield Completion(message=assistant("All of it."), finish="stop", model=ref)
            return
        yield Delta(text="Half of ")
        if self._error is not None:
            raise self._error
        yield Completion(message=assistant("Half of "), finish="cut", model=ref)

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]


@pytest.mark.parametrize("error", [None, Overloaded("upstream overloaded")], ids=["cut", "error"])
async def test_h02_half_a_reply_stays_in_the_history_marked_and_is_not_delivered(
    runtime: Build, error: Exception | None
) -> None:
    model = Breaks(error)
    built, _ = runtime(plugins={"scripted": model})
    async with built:
        turn = await built.answer("hi")
        again = await built.answer("and now?")
        stored = await built.sessions.turns()
    assert (turn.status, turn.delivered, len(model.requests)) == ("failed", (), 2)
    assert turn.messages[-1].text == "Half of\n\n[This reply broke off here and was not finished.]"
    assert "broke off after 8 characters" in (turn.error or "")
    assert stored[0].messages == turn.messages
    assert (again.text, "Half of" in model.requests[1].messages[-2].text) == ("All of it.", True)
