"""Small tools, clocks and surfaces that tests of the kernel share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from bumble_core import ToolCall, assistant, hookimpl, tool
from bumble_core.ports import Tool
from bumble_core.types.messages import Message


class Tools:
    """A plugin that offers functions, or tools, as tools."""

    def __init__(self, *offered: Any) -> None:
        self._offered = offered

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        return [each if isinstance(each, Tool) else tool(each) for each in self._offered]


class ManualClock:
    """Time that moves only when a test says so; sleeping gives way once and no more."""

    def __init__(self, now: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self._now = self._begin = now

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return (self._now - self._begin).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def move(self, **span: float) -> None:
        self._now += timedelta(**span)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def quick() -> str:
    """Answer at once."""
    return "q"


async def slow() -> str:
    """Answer after half a minute."""
    await asyncio.sleep(30)
    return "late"


def filling(**occupants: object) -> object:
    """Return a plugin whose hooks give what the keywords say: `filling(router=mine)`."""
    return type("Filling", (), {f"bumble_{hook}": _offering(each) for hook, each in occupants.items()})()


def calling(name: str, **arguments: Any) -> Message:
    return assistant("", ToolCall(name=name, arguments=arguments))


def calling_all(*names: str) -> Message:
    return assistant("", *(ToolCall(id=f"c{place}", name=name) for place, name in enumerate(names, 1)))


def statuses(messages: Sequence[Message]) -> list[str]:
    return [result.status for message in messages for result in message.tool_results]


def contents(messages: Sequence[Message]) -> list[str]:
    return [result.content for message in messages for result in message.tool_results]


def _offering(occupant: object) -> Any:
    def offer(self: object) -> object:
        return occupant

    return hookimpl(offer)
