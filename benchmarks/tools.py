"""Tools of one step side by side, the event loop meanwhile, and what turns with tools cost beside a bare loop.

    python -m benchmarks.tools [--quick] [--json] [--plain]

`eight tools`: from the first call of a step to its last result, each tool taking 50 ms. `loop gap`: the 99th percentile
of the time between two ticks that should be 5 ms apart, while three plain tools block; those that `compute` also take
the interpreter's lock in turns with the loop. CPU is of turns of five steps of four calls that do nothing and a closing
text, by step, beside a loop over httpx that sends the same first request, reads the same replies and sends the same
results; a further step is the slope between turns of one step and of five. `at once`: such turns with async tools,
started together in one process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from itertools import count, pairwise
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.agents import agent, transport
from benchmarks.bare import BareAgent, cpu_ms
from benchmarks.calls import Bench, nothing
from benchmarks.stub import StubProcess
from bumble_core import Runtime
from bumble_core.chat import encode_request
from bumble_core.types.events import Inferred

_WORDS = "Do what there is to do."
_TICK_S = 0.005
_STEPS, _CALLS, _TOKENS = 5, ("nothing",) * 4, 20
_KINDS = ("bare", "async tools", "plain tools")


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
        async with AsyncExitStack() as stack:
            agents = {
                kind: await stack.enter_async_context(
                    agent(
                        Path(home) / kind, stub.url, plain=plain, more={"bench": Bench(threads=kind == "plain tools")}
                    )
                )
                for kind in _KINDS[1:]
            }
            bare = BareAgent(stub.url, await _body(agents["async tools"]), {"nothing": nothing})
            stack.push_async_callback(bare.aclose)
            asks = {"bare": bare.ask, **{kind: _turn(runtime) for kind, runtime in agents.items()}}
            stub.seen()
            for ask in asks.values():
                await ask()
                assert stub.seen().requests == steps + 1
            return await cpu_ms(rounds, **asks)


async def at_once(number: int, *, plain: bool) -> dict[str, tuple[float, float, float]]:
    """Return wall seconds, CPU seconds and added memory in 10^6 bytes of so many conversations, by kind."""
    with StubProcess(_TOKENS, steps=_STEPS, calls=_CALLS) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain, more={"bench": Bench()}) as runtime:
            bare = BareAgent(stub.url, await _body(runtime), {"nothing": nothing})
            stub.seen()
            found = {}
            for kind, ask in (("turns", _turn(runtime)), ("bare", bare.ask)):
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
    per_step = {kind: whole[kind] / (_STEPS + 1) for kind in _KINDS}
    further = {kind: (whole[kind] - short[kind]) / (_STEPS - 1) for kind in _KINDS}
    for name, spent in (("CPU per step of a turn", per_step), ("CPU of a further step", further)):
        rows += [Row(f"{name}, {kind}", spent[kind], "ms") for kind in _KINDS]
        rows += [Row(f"{name}, {kind} / bare", spent[kind] / spent["bare"], "", 2) for kind in _KINDS[1:]]
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
        print(f"{row.name:44} {row.value:9.2f} {row.unit:2}{aim}")


if __name__ == "__main__":
    main()
