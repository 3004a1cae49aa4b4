"""Runs and writes that end at any moment: what is there is whole, and the next process makes it good."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, Literal

import pytest
import structlog
from typing_extensions import override

from bumble_core.atomic import is_part
from bumble_core.types.jobs import RunRecord, TurnsSince, When
from tests.depth import examples
from tests.http.streams import case
from tests.jobs.kill_child import NEW, OLD
from tests.jobs.world import FastFiles, MemorySessions, SimulatedClock, Taking, living, records, without_threads

H18 = case("H18")
KILLS = examples(25, H18["then"]["rounds_passed"])
DEATHS = examples(100, 2000)
MOST_OPERATIONS = 75  # of one life with one run


class Dying(FastFiles):
    """Does so many things to files, and then nothing any more; the last write may stop half way."""

    def __init__(self, left: int) -> None:
        self.left = left

    @override
    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        if mode != "rb":
            self._live()
        return super().open(path, mode)

    @override
    def write(self, handle: BinaryIO, data: bytes) -> None:
        if self.left == 1:
            handle.write(data[: len(data) // 2])
        self._live()
        super().write(handle, data)

    @override
    def replace(self, source: Path, target: Path) -> None:
        self._live()
        super().replace(source, target)

    @override
    def swap(self, source: Path, target: Path) -> bool:
        self._live()
        return super().swap(source, target)

    @override
    def put(self, source: Path, target: Path) -> None:
        self._live()
        super().put(source, target)

    @override
    def unlink(self, path: Path) -> None:
        self._live()
        super().unlink(path)

    def _live(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError("the process is dead")


def is_sound(home: Path) -> bool:
    """Every JSON file parses."""
    return all(json.loads(file.read_text()) for file in home.rglob("*.json") if file.parent.name != "open")


def strays(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if is_part(path.name)]


async def test_process_that_dies_at_any_moment_loses_no_turn_and_no_file(tmp_path: Path) -> None:
    without_threads()
    clock, chance = SimulatedClock(), random.Random(7)
    sessions = MemorySessions(clock)
    job = Taking(clock, When(TurnsSince(1)))
    file = tmp_path / "memory" / "tidy.md"
    with structlog.testing.capture_logs():
        for _ in range(DEATHS):
            sessions.add()
            before = file.read_text() if file.exists() else ""
            async with living(tmp_path, clock, sessions, job, files=Dying(chance.randint(0, MOST_OPERATIONS))):
                await clock.advance(timedelta(seconds=30))
            now = file.read_text() if file.exists() else ""
            assert now in (before, before + f"{len(sessions.log)}\n")
            assert is_sound(tmp_path)
            async with living(tmp_path, clock, sessions, job) as runtime:
                await clock.advance(timedelta(minutes=2))
                found = await records(runtime)
            assert strays(tmp_path) == []
            assert (found[-1].outcome, [each for each in found if each.finished is None]) == ("success", [])
            assert {int(line) for line in file.read_text().splitlines()} == set(range(1, len(sessions.log) + 1))


def test_h18_killed_process_leaves_nothing_that_the_next_cannot_mend(tmp_path: Path) -> None:
    """The rounds are those of the case, forked from one process; it checks after each kill and each restart."""
    assert H18["given"]["memory_file"]["bytes"].encode() == OLD
    arguments = [sys.executable, "-m", "tests.jobs.kill_child", str(tmp_path), "1234", str(KILLS)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "memory/semantic/facts.md").read_bytes() == NEW
    ended = [RunRecord.model_validate_json(file.read_text()) for file in (tmp_path / "memory").rglob("runs/**/*.json")]
    outcomes = {str(each.outcome) for each in ended}
    assert outcomes <= {"success", *H18["then"]["after_each_restart"]["interrupted_run_recorded_as_any"]}
    assert sum(each.outcome == "success" for each in ended) >= KILLS


@pytest.mark.parametrize("kept", [1, 3])
async def test_records_are_not_kept_for_ever(tmp_path: Path, kept: int) -> None:
    without_threads()
    clock = SimulatedClock()
    sessions, job = MemorySessions(clock), Taking(clock, When(TurnsSince(1)))
    agent = {"models": ["scripted:model"], "cognition": {"keep_runs": kept, "keep_runs_days": 2}}
    async with living(tmp_path, clock, sessions, job, agent=agent) as runtime:
        for _ in range(5):
            sessions.add()
            runtime.jobs.notice()
            await clock.advance(timedelta(seconds=5))
    async with living(tmp_path, clock, sessions, job, agent=agent) as runtime:
        assert len(await records(runtime)) == kept
    clock.jump(timedelta(days=3))
    async with living(tmp_path, clock, sessions, job, agent=agent) as runtime:
        assert await records(runtime) == []
    assert list((tmp_path / "memory/cognition/runs").iterdir()) == []
