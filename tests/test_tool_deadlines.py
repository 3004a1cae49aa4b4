"""How long a call may take, and who says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bumble_core import assistant, tool
from bumble_core.builtin.surfaces import NoSurface
from bumble_core.ports import Timed
from bumble_core.types.surfaces import Answer, Question
from bumble_core.types.turn import TurnContext
from tests.pieces import Tools, calling, calling_all, contents, statuses


async def endless() -> str:
    """Never answer."""
    await asyncio.sleep(60)
    return "late"


async def answers(runtime: Any, made: Any, surface: Any = "none", **settings: Any) -> tuple[list[str], list[str]]:
    built, _ = runtime(calling("endless"), assistant("So be it."), plugins={"t": Tools(made)}, tools=settings)
    async with built:
        turn = await built.answer("go", surface=surface)
    return statuses(turn.messages), contents(turn.messages)


@pytest.mark.parametrize(
    ("own", "configured", "seconds"),
    [
        (None, {"timeout_s": 0.02}, "0.02"),
        (0.03, {}, "0.03"),
        (0.03, {"timeout_s": 0.02}, "0.03"),
        (30, {"timeouts": {"endless": 0.04}}, "0.04"),
        (30, {"timeout_s": 30, "timeouts": {"endless": 0.04, "other": 9}}, "0.04"),
        (0.03, {"timeouts": {"other": 9}}, "0.03"),
    ],
    ids=["all-tools", "own", "own-before-all", "configured-before-own", "configured-before-both", "another-configured"],
)
async def test_the_nearest_deadline_counts(
    runtime: Any, own: float | None, configured: dict[str, Any], seconds: str
) -> None:
    made = tool(endless) if own is None else tool(endless, timeout_s=own)
    assert isinstance(made, Timed)
    assert await answers(runtime, made, **configured) == (["timeout"], [f"timed out: no answer within {seconds} s"])


async def test_a_tool_that_says_nothing_of_time_has_the_common_deadline(runtime: Any) -> None:
    class Plain:
        spec = tool(endless).spec
        is_work = True
        call = staticmethod(tool(endless).call)

    assert not isinstance(Plain(), Timed)
    assert await answers(runtime, Plain(), timeout_s=0.02) == (["timeout"], ["timed out: no answer within 0.02 s"])


async def test_one_that_takes_too_long_ends_and_its_siblings_do_not(runtime: Any) -> None:
    ended: list[str] = []

    async def stuck() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("stuck")

    async def steady() -> str:
        await asyncio.sleep(0.3)
        return "steady"

    tools = Tools(tool(stuck, timeout_s=0.02), steady)
    made, _ = runtime(calling_all("stuck", "steady"), assistant("Done."), plugins={"t": tools})
    async with made:
        turn = await made.answer("go")
    assert (statuses(turn.messages), ended) == (["timeout", "ok"], ["stuck"])


class SlowPerson(NoSurface):
    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        await asyncio.sleep(0.3)
        return Answer(answered=True, text="yes")


async def test_asking_does_not_consume_the_deadline(runtime: Any) -> None:
    async def brief() -> str:
        await asyncio.sleep(0.01)
        return "in time"

    made = tool(brief, name="endless", timeout_s=0.2, asks_first=True)
    assert await answers(runtime, made, SlowPerson()) == (["ok"], ["in time"])


@pytest.mark.parametrize("seconds", [0, -1, "5", True, float("inf")])
def test_a_deadline_is_a_positive_number(settings: Any, seconds: object) -> None:
    with pytest.raises(ValueError, match="timeouts"):
        settings(tools={"timeouts": {"run_command": seconds}})
