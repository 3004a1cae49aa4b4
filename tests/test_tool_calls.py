"""What the kernel refuses to run, and what the model is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
from pydantic import BaseModel, JsonValue

from bumble_core.ports import Tool
from bumble_core.tool_calls import CallGate, past_calls
from bumble_core.tools import tool
from bumble_core.types.inference import ModelRef, Profile, ToolSpec
from bumble_core.types.messages import ResultStatus, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.types.settings import Tools
from bumble_core.types.turn import Limits, Route, TurnContext, TurnInput

MODELS = (ModelRef(model="m"),)
TURN = TurnContext.begin(
    TurnInput(session_id="s", message=user("hi"), models=MODELS, started=datetime(2026, 1, 1, tzinfo=UTC)),
    Route(profile=Profile(name="reflex", max_tokens=9), models=MODELS, decided_by="forced", reason="test"),
    Limits(max_steps=6, max_pushbacks=2, max_auxiliary_calls=12, deadline_s=60),
)


class Item(BaseModel):
    name: str
    count: int = 1


@tool
def add(a: int, b: int) -> int:
    return a + b


@tool
def order(item: Item, extras: list[Item] = [], note: str | None = None, speed: Literal["slow", "fast"] = "slow") -> str:  # noqa: B006
    return ""


@tool
def read_note(path: str) -> str:
    return path


@tool(is_work=False)
def say(message: str) -> str:
    return message


@tool(is_work=False)
def wait(seconds: int) -> str:
    return ""


@tool
def free(anything: Any) -> str:
    return ""


class Described:
    """A tool of a stranger: whatever schema it brings."""

    is_work = True

    def __init__(self, **parameters: JsonValue) -> None:
        self.spec = ToolSpec(name="described", description="", parameters=parameters)

    async def call(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        return ToolResult(call_id=call.id, name=call.name, content="")


TOOLS: dict[str, Tool] = {made.spec.name: made for made in (add, order, read_note, say, wait, free)}


def refusal(name: str, turn: TurnContext = TURN, settings: Tools | None = None, **arguments: JsonValue) -> str | None:
    gate = CallGate(TOOLS, settings or Tools())
    return gate.refusal(ToolCall(name=name, arguments=arguments), turn, past_calls(turn))


def described(value: JsonValue, **parameters: JsonValue) -> str | None:
    call = ToolCall(name="described", arguments={"x": value})
    return CallGate({"described": Described(**parameters)}, Tools()).refusal(call, TURN)


Past = tuple[str, dict[str, JsonValue], str, ResultStatus]


def after(*past: Past) -> TurnContext:
    turn = TURN
    for name, arguments, content, status in past:
        call = ToolCall(name=name, arguments=arguments)
        is_work = TOOLS[name].is_work
        result = ToolResult(call_id=call.id, name=name, content=content, status=status, is_work=is_work)
        messages = (assistant("", call), tool_message(result))
        turn = replace(turn, view=turn.view + messages, log=turn.log + messages)
    return turn


def read(path: str, content: str = "text", status: ResultStatus = "ok") -> Past:
    return ("read_note", {"path": path}, content, status)


def test_a_call_that_fits_is_not_refused() -> None:
    assert refusal("add", a=2, b=3) is None


def test_a_call_with_a_problem_is_refused_before_anything_else() -> None:
    call = ToolCall(name="nothing", problem="the arguments are not valid JSON: line 1", raw="{")
    text = CallGate(TOOLS, Tools()).refusal(call, TURN)
    assert text == "`nothing` was not run: the arguments are not valid JSON: line 1"


def test_an_unknown_tool_gets_the_nearest_name_and_the_list() -> None:
    text = refusal("read_notes")
    assert text is not None
    assert "did you mean `read_note`?" in text
    assert "the tools are `add`, `order`," in text


def test_a_long_list_of_tools_is_not_repeated_to_the_model() -> None:
    many: dict[str, Tool] = {f"tool_{index}": add for index in range(500)}
    text = CallGate(many, Tools()).refusal(ToolCall(name="x" * 100_000), TURN)
    assert text is not None
    assert len(text) < 300


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("add", {"a": 1}, "`b` is missing"),
        ("add", {"a": "2", "b": 3}, '`a`: expected integer, got "2"'),
        ("add", {"a": True, "b": 3}, "`a`: expected integer, got true"),
        ("add", {"a": 1, "b": 2, "bb": 3}, "`bb` is not an argument (did you mean `b`?). It takes `a`, `b`."),
        ("order", {"item": {"nam": "x"}}, "`item.nam` is not an argument (did you mean `name`?)"),
        ("order", {"item": {"nam": "x"}}, "`item.name` is missing"),
        ("order", {"item": {"name": "x"}, "extras": [{"name": "y"}, {"name": 3}]}, "`extras[1].name`: expected string"),
        ("order", {"item": {"name": "x"}, "note": 3}, "`note`: expected string or null, got 3"),
        ("order", {"item": {"name": "x"}, "speed": "fst"}, '`speed`: the value is not one of "slow" or "fast"'),
    ],
)
def test_arguments_that_do_not_fit_are_refused(name: str, arguments: dict[str, JsonValue], expected: str) -> None:
    call = ToolCall(name=name, arguments=arguments)
    assert expected in str(CallGate(TOOLS, Tools()).refusal(call, TURN))


def test_several_problems_come_in_one_bounded_message() -> None:
    extras: list[JsonValue] = [{"name": "x" * 10_000, "count": "y" * 10_000} for _ in range(1000)]
    text = refusal("order", item={"name": "x"}, extras=extras)
    assert text is not None
    assert "and 45 more" in text
    assert len(text) < 1500


@pytest.mark.parametrize(
    ("parameters", "value", "expected"),
    [
        ({"properties": {"x": {"minimum": 3}}}, 2, "`x`: the value is less than the minimum of 3, got 2"),
        (
            {"properties": {"x": {"anyOf": [{"type": "object", "required": ["k"]}, {"type": "null"}]}}},
            {},
            "`x.k` is missing",
        ),
        ({"properties": {"x": {"oneOf": [{"minimum": 1}, {"minimum": 2}]}}}, 4, "more than one"),
        ({"type": "nonsense"}, 1, "invalid schema"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, 1, "invalid schema"),
        ({"properties": {"x": {"pattern": "^(a+)+$"}}}, "a" * 5000 + "!", "does not match"),
        ({}, 1, "None"),
    ],
    ids=["bound", "union", "ambiguous", "broken-schema", "remote-schema", "backtracking", "no-schema"],
)
def test_any_schema_of_a_stranger_is_survived(
    parameters: dict[str, JsonValue], value: JsonValue, expected: str
) -> None:
    assert expected in str(described(value, **parameters))


def test_deeply_nested_arguments_pass_where_the_schema_lets_them() -> None:
    value: JsonValue = 1
    for _ in range(200):
        value = [value]
    assert refusal("free", turn=after(("free", {"anything": value}, "", "ok")), anything=value) is None


@pytest.mark.parametrize(
    ("past", "refused"),
    [
        ((read("a"), read("a")), True),
        ((read("a"),), False),
        ((read("a"), read("a", "other text")), False),
        ((read("a", "1"), read("a", "2"), read("a", "2")), True),
        ((read("1"), read("2"), read("3"), read("4")), False),
        ((read("a"), read("a"), read("b")), False),
        ((read("a"), read("a"), read("a", "told", "refused")), True),
        ((read("a", "gone", "error"), read("a", "gone", "error")), True),
        ((read("a", "gone", "error"), read("a", "gone", "ok")), False),
        ((read("a"), ("say", {"message": "m"}, "delivered", "ok"), read("a")), True),
        ((read("a"), read("a"), ("wait", {"seconds": 1}, "waited", "ok")), False),
        ((read("a"), read("a"), ("wait", {"seconds": 1}, "no", "error")), True),
        ((read("a"), read("b"), read("a"), read("b")), True),
        ((read("b"), read("a"), read("b"), read("a")), True),
        ((read("a"), read("b"), read("a", "other text"), read("b")), False),
        ((read("a"), read("b"), read("a")), False),
        ((read("b"), read("c"), read("b"), read("c")), False),
        ((read("a"), read("b"), read("c"), read("d")) * 2, True),
        ((read("a"), read("b"), ("wait", {"seconds": 1}, "waited", "ok"), read("a"), read("b")), False),
    ],
    ids=[
        "twice",
        "once",
        "polling-what-changes",
        "changed-then-twice",
        "four-files",
        "another-between",
        "after-a-refusal",
        "same-error",
        "same-words-other-status",
        "saying-between",
        "waiting-between",
        "failed-wait-between",
        "two-in-turns",
        "two-in-turns-the-other-first",
        "in-turns-with-a-change",
        "not-yet-twice",
        "a-way-out-of-a-cycle",
        "four-in-turns",
        "waiting-in-a-cycle",
    ],
)
def test_the_third_equal_call_in_a_row_is_refused(past: tuple[Past, ...], refused: bool) -> None:
    text = refusal("read_note", turn=after(*past), path="a")
    assert (text is not None and "the same" in text and "change the arguments" in text) is refused


def test_a_cycle_of_calls_is_named_by_its_length() -> None:
    past = (read("a"), read("b"), read("a"), read("b"))
    assert "the same round of 2 calls has given" in str(refusal("read_note", turn=after(*past), path="a"))


def test_the_order_of_arguments_makes_no_other_call() -> None:
    done: Past = ("add", {"a": 1, "b": 2}, "3", "ok")
    assert "same call" in str(refusal("add", turn=after(done, done), b=2, a=1))


def test_true_and_one_are_different_arguments() -> None:
    done: Past = ("free", {"anything": True}, "x", "ok")
    assert refusal("free", turn=after(done, done), anything=1) is None


def test_agency_tools_may_repeat() -> None:
    done: Past = ("say", {"message": "m"}, "delivered", "ok")
    assert refusal("say", turn=after(done, done, done), message="m") is None
