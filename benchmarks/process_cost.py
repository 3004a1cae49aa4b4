"""Measure what a process costs: CPU, time and memory of importing, of `--help`, of one answer.

    python benchmarks/process_cost.py [--runs N] [--quick] [--json]

Every row is the median of several processes, one row after the other in each round, so that a busy moment of the
machine touches all rows alike. Answers come from a scripted server in this process. Ratios are of CPU time, which a
busy machine disturbs least.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bumble_core import assistant
from bumble_core.testing.stub_replies import openai_stream, sse_reply
from bumble_core.testing.stub_server import StubServer

# Started without `site`, this process is smaller than any that it measures; a child counts its parent's memory too.
LAUNCHER = """
import os, sys, time
begin = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
_, status, usage = os.wait4(pid, 0)
wall = time.perf_counter() - begin
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""

BASE = "import click, croniter, filelock, jsonschema_rs, platformdirs, pluggy, pydantic, rich, structlog, yaml"
ASSEMBLE = """
import sys
from bumble_core import Settings, assemble
assemble(Settings.model_validate({"agent": {"models": ["openai:m"]}, "home": sys.argv[1]}))
"""
BARE = """
import json, os
import httpx
body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
with httpx.stream("POST", os.environ["OPENAI_BASE_URL"] + "/chat/completions", json=body) as reply:
    for line in reply.iter_lines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                print(choice["delta"].get("content", ""), end="", flush=True)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one process cost. `memory_mb` is its largest resident size, in 10^6 bytes."""

    cpu_ms: float
    wall_ms: float
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Aim:
    """A promise about two rows: `value` is what was measured, `at_most` what it may be."""

    text: str
    value: float
    at_most: float

    @property
    def is_met(self) -> bool:
        return self.value <= self.at_most


def commands(home: Path) -> dict[str, list[str]]:
    """Return the measured processes by the names of their rows."""
    python = sys.executable
    bumble = [python, "-m", "bumble_core"]
    return {
        "python -c pass": [python, "-c", "pass"],
        "import the base dependencies": [python, "-c", f"{BASE}; pydantic.BaseModel"],
        "import and assemble": [python, "-c", ASSEMBLE, str(home)],
        "bumble --help": [*bumble, "--help"],
        "bare httpx script": [python, "-c", BARE],
        "bumble run": [*bumble, "run", "--model", "openai:m", "--home", str(home), "hi"],
    }


def cost(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run one process and return what it cost."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, *command]
    done = subprocess.run(
        launcher, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=True
    )
    status, wall, cpu, kibibytes = map(float, done.stdout.split())
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {status:.0f}:\n{done.stderr}")
    return Cost(cpu * 1000, wall * 1000, kibibytes * 1024 / 1e6)


def measured(home: Path, environment: Mapping[str, str], runs: int) -> dict[str, Cost]:
    """Return the median cost of every row, after one round that warms the caches."""
    rounds = [{name: cost(command, environment) for name, command in commands(home).items()} for _ in range(runs + 1)][
        1:
    ]
    return {
        name: Cost(
            statistics.median(each[name].cpu_ms for each in rounds),
            statistics.median(each[name].wall_ms for each in rounds),
            statistics.median(each[name].memory_mb for each in rounds),
        )
        for name in commands(home)
    }


def aims(rows: Mapping[str, Cost]) -> tuple[Aim, ...]:
    """Return what the project promises, beside what was measured."""
    base, assembled = rows["import the base dependencies"], rows["import and assemble"]
    run, bare = rows["bumble run"], rows["bare httpx script"]
    return (
        Aim("import and assemble / base dependencies", assembled.cpu_ms / base.cpu_ms, 1.3),
        Aim("bumble --help / import and assemble", rows["bumble --help"].cpu_ms / assembled.cpu_ms, 0.5),
        Aim("bumble run - bare httpx script, CPU ms", run.cpu_ms - bare.cpu_ms, 300),
        Aim("bumble run - bare httpx script, wall ms", run.wall_ms - bare.wall_ms, 300),
    )


def table(rows: Mapping[str, Cost], runs: int) -> str:
    """Return rows and aims as text; ratios are to `import the base dependencies`."""
    base = rows["import the base dependencies"].cpu_ms
    lines = [f"{'median of ' + str(runs):32} {'CPU ms':>8} {'wall ms':>8} {'MB':>6} {'ratio':>6}"]
    for name, row in rows.items():
        lines.append(f"{name:32} {row.cpu_ms:8.0f} {row.wall_ms:8.0f} {row.memory_mb:6.1f} {row.cpu_ms / base:6.2f}")
    lines += ["", f"{'aim':42} {'measured':>9} {'at most':>8}"]
    for aim in aims(rows):
        lines.append(f"{aim.text:42} {aim.value:9.2f} {aim.at_most:8.2f} {'' if aim.is_met else ' missed'}".rstrip())
    return "\n".join(lines)


def _inherited() -> dict[str, str]:
    """Return this environment less what changes how Python starts, such as not writing what it compiled."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON") or name == "PYTHONPATH"}


async def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a process costs.")
    parser.add_argument("--runs", type=int, default=7, help="processes per row, besides one that warms up")
    parser.add_argument("--quick", action="store_true", help="one process per row: shows that it works, no more")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    runs = 1 if chosen.quick else chosen.runs
    reply = sse_reply(openai_stream(assistant("Good morning. What can I do for you?")))
    async with StubServer([reply]) as stub:
        with tempfile.TemporaryDirectory() as folder:
            user = {"HOME": folder, "OPENAI_BASE_URL": f"{stub.url}/v1", "OPENAI_API_KEY": "none"}
            rows = await asyncio.to_thread(measured, Path(folder) / "home", {**_inherited(), **user}, runs)
    if chosen.json:
        found = {"runs": runs, "rows": {name: asdict(row) for name, row in rows.items()}}
        print(json.dumps({**found, "aims": [{**asdict(aim), "is_met": aim.is_met} for aim in aims(rows)]}, indent=2))
    else:
        print(table(rows, runs))


if __name__ == "__main__":
    asyncio.run(main())
