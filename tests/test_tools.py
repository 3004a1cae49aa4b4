"""A tool made from a function: what the model sees, what is refused, what comes back."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from bumble_core.errors import ContractError, ToolError
from bumble_core.ports import Tool
from bumble_core.tools import FunctionTool, tool
from bumble_core.types.inference import ModelRef, Profile
from bumble_core.types.messages import ToolCall, ToolResult, user
from bumble_core.types.turn import Limits, Route, TurnContext, TurnInput

MODELS = (ModelRef(model="m"),)
TURN = TurnContext.begin(
    TurnInput(session_id="s", message=user("hi"), models=MODELS, started=datetime(2026, 1, 1, tzinfo=UTC)),
    Route(profile=Profile(name="reflex", max_tokens=9), models=MODELS, decided_by="forced", reason="test"),
    Limits(max_steps=6, max_pushbacks=2, max_auxiliary_calls=12, deadline_s=60),
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Box(BaseModel):
    width: int
    label: str = ""


@dataclass
class Point:
    x: float
    y: float = 0.0


def everything(
    count: int,
    colour: Colour,
    box: Box,
    point: Point,
    mode: Literal["fast", "slow"],
    names: list[str],
    pair: tuple[int, str],
    sizes: dict[str, int],
    either: int | str,
    where: Path,
    at: datetime,
    limit: int | None = None,
    schema: bool = False,
) -> str:
    """Take one of each."""
    return repr((count, colour, box, point, mode, names, pair, sizes, either, where, at, limit, schema))


FITTING: dict[str, JsonValue] = {
    "count": 1,
    "colour": "red",
    "box": {"width": 2},
    "point": {"x": 1},
    "mode": "fast",
    "names": ["a"],
    "pair": [1, "b"],
    "sizes": {"s": 3},
    "either": "z",
    "where": "/tmp/x",
    "at": "2026-01-02T03:04:05Z",
}


async def call(made: FunctionTool, **arguments: JsonValue) -> ToolResult:
    return await made.call(ToolCall(id="c1", name=made.spec.name, arguments=arguments), TURN)


def properties(made: FunctionTool) -> dict[str, Any]:
    found = made.spec.parameters["properties"]
    assert isinstance(found, dict)
    return found


def test_a_function_tool_satisfies_the_port() -> None:
    assert isinstance(tool(everything), Tool)


def test_schema_is_closed_and_names_what_is_required() -> None:
    schema = tool(everything).spec.parameters
    assert schema["additionalProperties"] is False
    assert schema["required"] == [*FITTING]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("count", {"type": "integer"}),
        ("mode", {"type": "string", "enum": ["fast", "slow"]}),
        ("names", {"type": "array", "items": {"type": "string"}}),
        ("sizes", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("either", {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ("limit", {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}),
        ("schema", {"type": "boolean", "default": False}),
        ("at", {"type": "string", "format": "date-time"}),
        ("colour", {"$ref": "#/$defs/Colour"}),
        ("box", {"$ref": "#/$defs/Box"}),
        ("point", {"$ref": "#/$defs/Point"}),
    ],
)
def test_schema_of_a_parameter_follows_its_annotation(name: str, expected: dict[str, Any]) -> None:
    assert properties(tool(everything))[name] == expected


def test_nested_models_are_closed_and_have_no_titles() -> None:
    schema: Any = tool(everything).spec.parameters
    assert schema["$defs"]["Box"]["additionalProperties"] is False
    assert "title" not in str(schema)


async def test_arguments_arrive_as_the_types_that_the_signature_names() -> None:
    result = await call(tool(everything), **FITTING)
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    given = (1, Colour.RED, Box(width=2), Point(1.0), "fast", ["a"], (1, "b"), {"s": 3}, "z", Path("/tmp/x"))
    assert result.content.startswith(repr(given)[:-1])
    assert repr(at)[:30] in result.content
    assert result.content.endswith("None, False)")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": "3"}, r"`count`: .*integer, got \"3\""),
        ({"count": True}, "`count`: .*integer, got true"),
        ({"count": 1.5}, "`count`: .*integer"),
        ({"names": "a"}, "`names`: .*array"),
        ({"names": ["a", 2]}, r"`names\[1\]`: .*string, got 2"),
        ({"box": {"width": "wide"}}, r"`box\.width`: .*integer, got \"wide\""),
        ({"box": {}}, r"`box\.width` is missing"),
        ({"colour": "rde"}, "`colour`: .*'red' or 'blue', got \"rde\""),
        ({"mode": "quick"}, "`mode`: .*'fast' or 'slow'"),
        ({"schema": "yes"}, "`schema`: .*boolean"),
        ({"coutn": 1}, r"`coutn` is not an argument \(did you mean `count`\?\)"),
        ({"count": "\ud800"}, "surrogate"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_with_field_need_and_value(
    change: dict[str, JsonValue], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        await call(tool(everything), **{**FITTING, **change})


async def test_the_function_is_not_entered_when_arguments_do_not_fit() -> None:
    entered: list[int] = []

    def note(count: int) -> None:
        entered.append(count)

    with pytest.raises(ToolError, match="It takes `count`"):
        await call(tool(note), count="1")
    assert entered == []


async def test_a_message_about_huge_arguments_stays_short() -> None:
    with pytest.raises(ToolError) as caught:
        await call(tool(everything), **{f"x{index}": "y" * 100_000 for index in range(100)})
    assert len(str(caught.value)) < 1000


async def test_whole_numbers_may_come_with_a_point() -> None:
    def double(count: int, share: float) -> list[float]:
        return [count * 2, share]

    assert (await call(tool(double), count=5.0, share=1.0)).content == "[10, 1.0]"


def google(path: str, depth: int = 1) -> str:
    """Walk a folder.

    Longer words about it.

    Args:
        path: Where to begin,
            in the workspace.
        depth (int): How far: down.

    Returns:
        The names.

    Raises:
        ToolError: never.
    """
    return path * depth


def rest(path: str, depth: int = 1) -> str:
    """Walk a folder.

    :param path: Where to begin,
        in the workspace.
    :param int depth: How far: down.
    :raises ToolError: never
    """
    return path * depth


def numpy(path: str, depth: int = 1) -> str:
    """Walk a folder.

    Longer words about it.

    Parameters
    ----------
    path : str
        Where to begin,
        in the workspace.
    depth : int, optional
        How far: down.

    Returns
    -------
    str
        The names.

    Raises
    ------
    ToolError
        never
    """
    return path * depth


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_parameters_are_described_by_the_docstring(function: Any) -> None:
    found = properties(tool(function))
    assert found["path"]["description"] == "Where to begin, in the workspace."
    assert found["depth"]["description"] == "How far: down."


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_description_is_the_docstring_without_parameters_and_errors(function: Any) -> None:
    description = tool(function).spec.description
    assert description.startswith("Walk a folder.")
    assert "depth" not in description
    assert "never" not in description
    assert "---" not in description


def test_an_annotated_field_describes_and_bounds_its_parameter() -> None:
    def wait(seconds: Annotated[int, Field(description="How long.", ge=1, le=15)] = 3) -> None:
        """Args:
        seconds: other words
        """

    expected = {"type": "integer", "minimum": 1, "maximum": 15, "default": 3, "description": "How long."}
    assert properties(tool(wait))["seconds"] == expected


def test_name_and_description_can_be_given() -> None:
    spec = tool(google, name="walk", description="Go.").spec
    assert (spec.name, spec.description) == ("walk", "Go.")


def test_what_is_said_of_a_tool_is_kept() -> None:
    made = tool(asks_first=True, timeout_s=2.5)(google)
    assert (made.asks_first, made.timeout_s, tool(google).asks_first, tool(google).timeout_s) == (
        True,
        2.5,
        False,
        None,
    )


def test_tool_is_a_decorator_with_and_without_arguments() -> None:
    @tool
    def one() -> None: ...

    @tool(is_work=False)
    def two() -> None: ...

    assert (one.spec.name, one.is_work, two.spec.name, two.is_work) == ("one", True, "two", False)


async def test_a_turn_context_is_handed_over_and_hidden_from_the_model() -> None:
    async def who(turn: TurnContext, loud: bool = False) -> str:
        return turn.input.session_id

    assert [*properties(tool(who))] == ["loud"]
    assert (await call(tool(who))).content == "s"


async def test_a_default_is_left_to_the_function() -> None:
    shared: list[str] = ["kept"]

    def give(extra: list[str] = shared) -> bool:
        return extra is shared

    assert (await call(tool(give))).content == "true"


async def test_bound_methods_work() -> None:
    class Shelf:
        books = 3

        def count(self, extra: int) -> int:
            return self.books + extra

    assert (await call(tool(Shelf().count), extra=2)).content == "5"


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ("as it is", "as it is"),
        (None, "done"),
        (5, "5"),
        (Box(width=1, label="é"), '{"width": 1, "label": "é"}'),
        (Point(1.0), '{"x": 1.0, "y": 0.0}'),
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, '{"when": "2026-01-01T00:00:00Z"}'),
        ([Colour.RED, Path("a")], '["red", "a"]'),
        (["\udcff"], '["\udcff"]'),
    ],
    ids=["text", "none", "number", "model", "dataclass", "datetime", "enum-and-path", "undecodable-name"],
)
async def test_what_a_function_returns_becomes_the_content(answer: object, content: str) -> None:
    async def give() -> Any:
        return answer

    result = await call(tool(give, is_work=False))
    assert (result.content, result.call_id, result.name, result.is_work) == (content, "c1", "give", False)


async def test_a_tool_result_passes_with_its_call_filled_in() -> None:
    def stop() -> ToolResult:
        return ToolResult(call_id="", name="", content="bye", ends_turn=True)

    result = await call(tool(stop, is_work=False))
    assert result == ToolResult(call_id="c1", name="stop", content="bye", ends_turn=True, is_work=False)


async def test_an_answer_that_is_not_json_is_the_tools_fault() -> None:
    def give() -> object:
        return object()

    with pytest.raises(ContractError, match="`give` returned"):
        await call(tool(give))


MISPLACED: Any = Field(default=3)


def variadic(*args: int) -> None: ...
def keywords(**named: int) -> None: ...
def positional(first: int, /) -> None: ...
def unresolved(first: int) -> None: ...
def opaque(good: int, first: threading.Lock) -> None: ...
def misplaced(good: int, first: int = MISPLACED) -> None: ...


bare: Any = eval("lambda first: None")
bare.__name__ = "bare"
unresolved.__annotations__["first"] = "Missing"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (variadic, "`variadic`: parameter `args` is variadic"),
        (keywords, "`keywords`: parameter `named` is variadic"),
        (positional, "`positional`: parameter `first` is positional-only"),
        (bare, "`bare`: parameter `first` has no annotation"),
        (unresolved, "`unresolved`: parameter `first`: .*Missing"),
        (opaque, "`opaque`: parameter `first`: no JSON schema"),
        (misplaced, "`misplaced`: parameter `first`: write `Annotated"),
        (print, "`print`: expected a function"),
        (lambda: None, "`<lambda>`: a name has"),
        (functools.partial(print, 1), "not from functools.partial"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_a_model_cannot_be_offered_is_refused_by_name(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        tool(function)


async def test_what_a_plain_function_raises_is_raised_where_it_was_called() -> None:
    def boom(kind: Literal["value", "stop"]) -> None:
        raise ValueError("disk on fire") if kind == "value" else StopIteration

    with pytest.raises(ValueError, match="disk on fire"):
        await call(tool(boom), kind="value")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await call(tool(boom), kind="stop")


async def test_a_plain_function_sees_the_callers_context() -> None:
    place = contextvars.ContextVar("place", default="nowhere")

    def where() -> str:
        return f"{place.get()} {threading.current_thread().name}"

    place.set("here")
    assert (await call(tool(where))).content == "here tool-where"


async def test_a_plain_function_that_gives_a_coroutine_is_awaited() -> None:
    async def inner() -> str:
        return "inner"

    def outer() -> Any:
        return inner()

    assert (await call(tool(outer))).content == "inner"


async def test_sixty_plain_calls_wait_for_nothing_but_themselves() -> None:
    barrier = threading.Barrier(60)

    def meet() -> int:
        return barrier.wait(timeout=10)

    results = await asyncio.gather(*(call(tool(meet)) for _ in range(60)))
    assert len({result.content for result in results}) == 60


async def test_a_cancelled_plain_call_gives_control_back_at_once() -> None:
    release = threading.Event()

    def stuck() -> None:
        release.wait(10)

    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await call(tool(stuck))
    release.set()
    assert time.monotonic() - begin < 1


def test_a_stuck_plain_tool_does_not_hold_up_the_end_of_the_process() -> None:
    code = (
        "import asyncio, time, sys; sys.path.insert(0, 'tests'); import test_tools as t\n"
        "def stuck() -> None: time.sleep(60)\n"
        "async def main():\n"
        "    async with asyncio.timeout(0.1): await t.call(t.tool(stuck))\n"
        "try: asyncio.run(main())\n"
        "except TimeoutError: print('given up')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stdout) == (0, "given up\n"), done.stderr


async def test_a_tool_that_returns_a_generator_is_told_to_return_a_list() -> None:
    def count() -> object:
        return (number for number in itertools.count())

    with pytest.raises(ContractError, match="`count` returned a generator; return a list"):
        await tool(count).call(ToolCall(name="count"), TURN)
