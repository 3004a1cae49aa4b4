"""Tools of one step side by side, the event loop meanwhile, and what turns with tools cost beside a bare loop.

    python -m benchmarks.tools [--quick] [--json] [--plain]

`eight tools`: from the first call of a step to its last result, each tool taking 50 ms. `loop gap`: the 99th percentile
of the time between two ticks that should be 5 ms apart, while three plain tools block; those that `compute` also take
the interpreter's lock in turns with the loop. `turn`: CPU of turns of five steps of four calls that do nothing and a
closing text, beside a loop over httpx that sends the same first request, reads the same replies and sends the same
results; `further step` is the slope between turns of one step and of five. `at once`: such turns, started together.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from itertools import count, pairwise
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.agents import agent, transport
from benchmarks.bare import BareAgent, cpu_ms
from benchmarks.stub import StubProcess
from bumble_core import Runtime, hookimpl, tool
from bumble_core.chat import encode_request
from bumble_core.ports import Observer, Tool
from bumble_core.types.events import Event, Inferred, ToolFinished, ToolStarted

_WORDS = "Do what there is to do."
_NAP_S, _TICK_S = 0.05, 0.005
_STEPS, _CALLS, _TOKENS = 5, ("nothing",) * 4, 20


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    block_s: float
    at_once: int


_FULL = Size(rounds=15, block_s=5.0, at_once=200)
_QUICK = Size(rounds=1, block_s=0.2, at_once=4)


@dataclass(frozen=True)
class Row:
    """One measure. `at_most` is what it should stay under, where something is promised."""

    name: str
    value: float
    unit: str
    at_most: float | None = None


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


class Bench:
    """Offers the tools, two of which block for `block_s`, and notes when the calls of the last step ran."""

    def __init__(self, block_s: float = 0.0) -> None:
        self.started: list[float] = []
        self.finished: list[float] = []
        self._block_s = block_s

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
        return [tool(each) for each in (nap, hold, nothing, self.sleep, self.compute)]

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


async def eight_at_once(name: str, rounds: int, *, plain: bool) -> float:
    """Return the median time of a step of eight calls, in milliseconds."""
    bench, spans = Bench(), []
    with StubProcess(1, steps=1, calls=(name,) * 8) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain, more={"bench": bench}) as runtime:
            for number in range(rounds + 1):
                bench.started, bench.finished = [], []
                await runtime.answer(_WORDS, session=f"s{number}")
                assert len(bench.finished) == 8
                spans.append(bench.span_s * 1000)
    return median(spans[1:])


async def loop_gap(name: str, block_s: float, *, plain: bool) -> float:
    """Return the 99th percentile of the gaps between two ticks while three calls block, in milliseconds."""
    bench, ticks = Bench(block_s), list[float]()
    with StubProcess(1, steps=1, calls=(name,) * 3) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain, more={"bench": bench}) as runtime:
            handle = runtime.start(_WORDS)
            while len(bench.finished) < 3:
                ticks.append(time.perf_counter())
                await asyncio.sleep(_TICK_S)
            await handle.result()
    gaps = [(after - before) * 1000 for before, after in pairwise(ticks) if after > bench.started[-1]]
    return quantiles(gaps, n=100, method="inclusive")[-1]


async def turns(steps: int, rounds: int, *, plain: bool) -> dict[str, float]:
    """Return the CPU of a turn of so many steps with calls and one without, by kind, in milliseconds."""
    with StubProcess(_TOKENS, steps=steps, calls=_CALLS) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain, more={"bench": Bench()}) as runtime:
            bare = BareAgent(stub.url, await _body(runtime), {"nothing": nothing})
            asks = {"bare": bare.ask, "turn": _turn(runtime)}
            stub.seen()
            for ask in asks.values():
                await ask()
                assert stub.seen().requests == steps + 1
            spent = await cpu_ms(rounds, **asks)
            await bare.aclose()
    return spent


async def at_once(number: int, *, plain: bool) -> dict[str, tuple[float, float, float]]:
    """Return wall seconds, CPU seconds and added memory in 10^6 bytes of so many conversations, by kind."""
    with StubProcess(_TOKENS, steps=_STEPS, calls=_CALLS) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain, more={"bench": Bench()}) as runtime:
            bare = BareAgent(stub.url, await _body(runtime), {"nothing": nothing})
            stub.seen()
            found = {}
            for kind, ask in (("turn", _turn(runtime)), ("bare", bare.ask)):
                found[kind] = await _crowd(number, ask)
                assert stub.seen().requests == number * (_STEPS + 1)
            await bare.aclose()
    return found


async def _crowd(number: int, ask: Callable[[], Awaitable[object]]) -> tuple[float, float, float]:
    before, largest = _memory_mb(), 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    running = asyncio.gather(*(ask() for _ in range(number)))
    while not running.done():
        await asyncio.wait([running], timeout=0.05)
        largest = max(largest, _memory_mb())
    await running
    return time.perf_counter() - wall, time.process_time() - cpu, max(largest - before, 0.0)


def _memory_mb() -> float:
    """Return the resident size of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024 / 1e6


async def _body(runtime: Runtime) -> dict[str, Any]:
    """Return what the first request of a turn sends."""
    events = [event async for event in runtime.stream(_WORDS, session="first")]
    request = next(event.request for event in events if isinstance(event, Inferred))
    return dict(encode_request(request, "m"))


def _turn(runtime: Runtime) -> Callable[[], Awaitable[object]]:
    sessions = count()
    return lambda: runtime.answer(_WORDS, session=f"s{next(sessions)}")


async def table(size: Size, *, plain: bool) -> list[Row]:
    rows = [
        Row(f"eight tools, {kind}", await eight_at_once(name, size.rounds, plain=plain), "ms", 100)
        for kind, name in (("async", "nap"), ("plain", "hold"))
    ]
    rows += [
        Row(f"loop gap, three tools that {name}", await loop_gap(name, size.block_s, plain=plain), "ms", at_most)
        for name, at_most in (("sleep", 100), ("compute", None))
    ]
    short, whole = [await turns(steps, size.rounds, plain=plain) for steps in (1, _STEPS)]
    further = {kind: (whole[kind] - short[kind]) / (_STEPS - 1) for kind in whole}
    rows += [Row(f"turn, CPU per step, {kind}", whole[kind] / (_STEPS + 1), "ms") for kind in whole]
    rows += [Row("turn, per step / bare", whole["turn"] / whole["bare"], "", 2)]
    rows += [Row(f"further step, CPU, {kind}", further[kind], "ms") for kind in further]
    rows += [Row("further step / bare", further["turn"] / further["bare"], "", 2)]
    for kind, measured in (await at_once(size.at_once, plain=plain)).items():
        names = (("wall", "s"), ("CPU", "s"), ("memory", "MB"))
        rows += [
            Row(f"{size.at_once} at once, {kind}, {name}", value, unit)
            for (name, unit), value in zip(names, measured, strict=True)
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and conversations, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--plain", action="store_true", help="without the extra `fast`, also where it is installed")
    chosen = parser.parse_args()
    rows = asyncio.run(table(_QUICK if chosen.quick else _FULL, plain=chosen.plain))
    if chosen.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print(f"The bare loop uses httpx, the turns {transport(plain=chosen.plain)}.")
    for row in rows:
        aim = (
            "" if row.at_most is None else f"  at most {row.at_most:g}{'' if row.value <= row.at_most else ', missed'}"
        )
        print(f"{row.name:36} {row.value:9.2f} {row.unit:2}{aim}")


if __name__ == "__main__":
    main()
