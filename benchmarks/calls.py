"""The tools that benchmarks call, and when their calls ran."""

from __future__ import annotations

import asyncio
import time

from bumble_core import hookimpl, tool
from bumble_core.ports import Observer, Tool
from bumble_core.types.events import Event, ToolFinished, ToolStarted

_NAP_S = 0.05


async def nap(number: int) -> str:
    """Wait without a thread."""
    await asyncio.sleep(_NAP_S)
    return "rested"


def hold(number: int) -> str:
    """Hold a thread."""
    time.sleep(_NAP_S)
    return "held"


def nothing(number: int) -> str:
    """Do nothing."""
    return "nothing"


async def nothing_async(number: int) -> str:
    """Do nothing."""
    return "nothing"


class Bench:
    """Offers the tools and notes when calls ran.

    `sleep` and `compute` block for `block_s`; `nothing` is a plain function where it `threads`, or a coroutine.
    """

    def __init__(self, block_s: float = 0.0, *, threads: bool = False) -> None:
        self.started: list[float] = []
        self.finished: list[float] = []
        self._block_s, self._threads = block_s, threads

    def sleep(self, number: int) -> str:
        """Block without using the CPU."""
        time.sleep(self._block_s)
        return "slept"

    def compute(self, number: int) -> str:
        """Block and use the CPU all the time."""
        end = time.monotonic() + self._block_s
        while time.monotonic() < end:
            sum(range(1_000))
        return "computed"

    @property
    def span_s(self) -> float:
        """From the first call to the last result."""
        return max(self.finished) - min(self.started)

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        idle = tool(nothing) if self._threads else tool(name="nothing")(nothing_async)
        return [idle, *(tool(each) for each in (nap, hold, self.sleep, self.compute))]

    @hookimpl
    def bumble_observers(self) -> list[Observer]:
        return [self]

    def notify(self, event: Event) -> None:
        match event:
            case ToolStarted():
                self.started.append(time.perf_counter())
            case ToolFinished():
                self.finished.append(time.perf_counter())
            case _:
                pass
