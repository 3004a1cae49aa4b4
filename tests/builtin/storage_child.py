"""Another process on the same home: `python storage_child.py WORK HOME …`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.ledger import FileJobLedger
from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.errors import VersionConflict
from bumble_core.types.jobs import Cause, RunRecord
from bumble_core.types.messages import assistant, user
from tests.builtin.storage_support import NOON, answer, call, input_of, say, turn_of

STAGES = ("begun", "called", "half-answered", "finished")


def report(text: str) -> None:
    """Tell the parent; it kills this process when it has read enough."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def stop_at(home: Path, stage: str) -> None:
    """Hold the session `s`, go as far as `stage` in a turn, and wait to be killed."""
    sessions = SqliteSessions(home, SystemClock())
    input = input_of("count")
    calls = assistant("Working.", call("c1"), call("c2")).model_copy(update={"id": "calls"})
    async with sessions.open("s", 5):
        await sessions.begin(input)
        if STAGES.index(stage) >= 1:
            await sessions.append(input.id, calls)
        if STAGES.index(stage) >= 2:
            await sessions.append(input.id, answer("c2", "two"))
        if STAGES.index(stage) >= 3:
            await sessions.append(input.id, answer("c1", "one"))
            await sessions.finish(turn_of(input, calls, answer("c1", "one"), answer("c2", "two")), None)
        report(stage)
        sys.stdin.read()


async def talk_on(home: Path) -> None:
    """Append messages to one turn and name each when it is kept."""
    sessions = SqliteSessions(home, SystemClock())
    async with sessions.open("s", 5):
        await sessions.begin(input_of("count"))
        for number in range(100_000):
            await sessions.append("turn_1", user(f"number {number}"))
            report(str(number))


async def take_turns(home: Path, name: str, count: str) -> None:
    """Run `count` turns in the session `s`, each under its lease."""
    sessions = SqliteSessions(home, SystemClock())
    for number in range(int(count)):
        async with sessions.open("s", 30):
            await say(sessions, f"{name} {number}", turn_id=f"{name}_{number}")
    await sessions.aclose()


async def add_lines(home: Path, name: str, count: str) -> None:
    """Add `count` lines to one document, reading again whenever somebody was faster."""
    documents = FileDocuments(home, SystemFiles(), SystemClock())
    for number in range(int(count)):
        while True:
            before = await documents.read("log.md")
            try:
                await documents.write("log.md", f"{before.text}{name} {number}\n", before.version)
            except VersionConflict:
                continue
            break


async def hold_job(home: Path) -> None:
    """Open a run of the job `tidy` under its lease, and wait to be killed."""
    ledger = FileJobLedger(home, SystemFiles(), SystemClock())
    async with ledger.lease("tidy") as held:
        record = RunRecord(id="run_1", job="tidy", cause=Cause(trigger="manual", reason="a test"), started=NOON)
        await ledger.open_run(record)
        report(f"held {held} by {os.getpid()}")
        sys.stdin.read()


if __name__ == "__main__":
    works: dict[str, Callable[..., Coroutine[None, None, None]]] = {
        "stop_at": stop_at,
        "talk_on": talk_on,
        "take_turns": take_turns,
        "add_lines": add_lines,
        "hold_job": hold_job,
    }
    asyncio.run(works[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:]))
