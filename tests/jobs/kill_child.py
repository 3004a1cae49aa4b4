"""Processes that start up and run one job, killed again and again at random moments, on the same home.

    python -m tests.jobs.kill_child HOME SEED ROUNDS

Exits with what is wrong in its last line when something is found that a kill may not leave.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from bumble_core import Settings, assemble
from bumble_core.atomic import is_part
from bumble_core.testing import ScriptedProvider
from bumble_core.types.documents import Document
from bumble_core.types.jobs import Cause, JobResult, JobSpec, JobView, Write
from tests.jobs.world import NoTurns
from tests.pieces import filling
from tests.shipped import construct_shipped

FACTS = "semantic/facts.md"
OLD = b"## facts\n- old fact\n"
NEW = b"## facts\n- old fact\n- new fact\n"
PAUSE_S = 0.05


class Consolidate:
    """Waits, replaces the facts, waits."""

    spec = JobSpec(id="consolidate", summary="Replace the facts", triggers=(), outputs=(FACTS,))

    async def run(self, view: JobView) -> JobResult:
        await asyncio.sleep(PAUSE_S)
        return JobResult(summary="replaced", read=0, writes=(Write(path=FACTS, text=NEW.decode()),))

    def problem(self, view: JobView, result: JobResult, documents: dict[str, Document]) -> str:
        time.sleep(PAUSE_S)
        return "" if documents[FACTS].text == NEW.decode() else "the facts are not there"


def live(home: Path) -> None:
    """Start, recover, run the job; an exception ends the process with an error."""

    async def once() -> None:
        settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
        plugins = {
            **construct_shipped("compactor"),
            "stages": filling(router=NoTurns(), judge=NoTurns()),
            "scripted": ScriptedProvider(),
            "own": filling(jobs=[Consolidate()]),
        }
        async with assemble(settings, plugins=plugins, discovers=False) as runtime:
            record = await runtime.parts.execute("consolidate", Cause(trigger="manual", reason="a round"))
        if record.outcome != "success":
            raise AssertionError(str(record))

    asyncio.run(once())


def forked(home: Path) -> int:
    if (child := os.fork()) != 0:
        return child
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        live(home)
    except BaseException:
        os._exit(1)
    os._exit(0)


def check(home: Path, *, is_mended: bool) -> None:
    facts = (home / "memory" / FACTS).read_bytes()
    if facts not in ([NEW] if is_mended else [OLD, NEW]):
        sys.exit(f"the facts are {facts!r}")
    for file in home.rglob("*.json"):
        if file.parent.name == "open":
            continue
        record = json.loads(file.read_text())
        if is_mended and "started" in record and record["finished"] is None:
            sys.exit(f"{file} is still running")
    if is_mended and (left := [path for path in home.rglob("*") if is_part(path.name)]):
        sys.exit(f"{left} are left")


def main(home: Path, seed: int, rounds: int) -> None:
    chance, facts = random.Random(seed), home / "memory" / FACTS
    begun = time.monotonic()
    os.waitpid(forked(home), 0)
    longest_s = time.monotonic() - begun
    for number in range(rounds):
        facts.write_bytes(OLD)
        child = forked(home)
        time.sleep(chance.uniform(0, longest_s))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        check(home, is_mended=False)
        _, status = os.waitpid(forked(home), 0)
        if status != 0:
            sys.exit(f"the job after kill {number} did not succeed")
        check(home, is_mended=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
