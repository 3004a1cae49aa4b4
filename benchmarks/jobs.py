"""What a turn takes while background jobs run beside it, and without them.

    python -m benchmarks.jobs [--quick] [--json] [--plain]

The model is a stub server that streams its replies. While turns are measured, two jobs are always under way: each asks
the same server, writes its document and is started again. The two kinds take turns, so that what the machine does
meanwhile hits both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.agents import agent
from benchmarks.stub import StubProcess
from bumble_core import Runtime, complete, hookimpl, user
from bumble_core.ports import Inference, Job
from bumble_core.types.inference import Profile, Request
from bumble_core.types.jobs import Cause, JobResult, JobSpec, JobView, TurnsSince, When, Write

_WORDS = "Thank you!"
_TOKENS, _APART_S = 30, 0.005
_PROFILE = Profile(name="job", max_tokens=200)
_AT_MOST = 1.10  # of the latency without jobs


@dataclass(frozen=True)
class Row:
    """Median and 95th percentile of a turn, in milliseconds, and the runs that ended meanwhile."""

    kind: str
    median_ms: float
    p95_ms: float
    runs: int


class Busy:
    """Asks, and writes what it heard."""

    def __init__(self, inference: Inference, number: int) -> None:
        self.spec = JobSpec(
            id=f"busy_{number}", summary="Ask", triggers=(When(TurnsSince(1)),), outputs=(f"busy_{number}.md",)
        )
        self._inference = inference

    async def run(self, view: JobView) -> JobResult:
        request = Request(
            owner=view.run_id, purpose="job", models=view.models, profile=_PROFILE, messages=(user(_WORDS),)
        )
        said = (await complete(self._inference, request)).message.text
        path = self.spec.outputs[0]
        text = f"{view.documents[path].text[-2000:]}{view.run_id} {said}\n"
        return JobResult(summary="asked", read=len(view.turns), writes=(Write(path=path, text=text),), removed=(text,))


class BusyPlugin:
    @hookimpl
    def bumble_jobs(self, inference: Inference) -> list[Job]:
        return [Busy(inference, number) for number in range(2)]


async def measure(rounds: int, *, plain: bool) -> list[Row]:
    """Return the rows without and with jobs."""
    spans: dict[str, list[float]] = {"without jobs": [], "with jobs": []}
    with StubProcess(_TOKENS, _APART_S) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain, more={"busy": BusyPlugin()}) as runtime:
            await runtime.answer(_WORDS)
            for number in range(rounds):
                spans["without jobs"].append(await _turn(runtime, f"a{number}"))
                running = [asyncio.create_task(_keep_running(runtime, job)) for job in runtime.parts.execute.specs]
                await asyncio.sleep(_APART_S * 4)
                spans["with jobs"].append(await _turn(runtime, f"b{number}"))
                await _ended(running)
            runs = len(await runtime.ledger.runs())
    return [
        Row(kind, median(found), sorted(found)[int(len(found) * 0.95)], runs if kind == "with jobs" else 0)
        for kind, found in spans.items()
    ]


async def _turn(runtime: Runtime, session: str) -> float:
    begun = time.perf_counter()
    await runtime.answer(_WORDS, session=session)
    return (time.perf_counter() - begun) * 1000


async def _keep_running(runtime: Runtime, job: str) -> None:
    while True:
        await runtime.parts.execute(job, Cause(trigger="manual", reason="benchmark"))


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure little, to see that it works")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--plain", action="store_true", help="leave the extra `fast` out")
    given = parser.parse_args()
    rows = asyncio.run(measure(3 if given.quick else 60, plain=given.plain))
    if given.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    for row in rows:
        print(f"{row.kind:14} median {row.median_ms:7.1f} ms   95 % {row.p95_ms:7.1f} ms   {row.runs} runs")
    without, beside = rows
    print(f"{'ratio':14} {beside.median_ms / without.median_ms:.3f}, at most {_AT_MOST:.2f}")


if __name__ == "__main__":
    main()
