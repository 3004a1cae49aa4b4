"""Jobs through days of random turns, failures, restarts, crashes, sleeps and clocks that are set."""

from __future__ import annotations

import logging
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog

from bumble_core import Runtime
from bumble_core.jobs.due import served
from bumble_core.types.events import Event, JobFinished, JobStarted
from bumble_core.types.jobs import AtStartup, Cron, IdleFor, TurnsSince, When
from tests.depth import IS_DEEP
from tests.jobs.world import MemorySessions, Mortal, SimulatedClock, Taking, living, without_threads

ZONES = [
    ("Europe/Berlin", "2026-10-24T20:00"),
    ("America/New_York", "2026-11-01T00:00"),
    ("Australia/Lord_Howe", "2026-04-04T12:00"),
    ("America/St_Johns", "2026-03-08T00:00"),
    ("Africa/Casablanca", "2026-02-14T20:00"),
    ("Asia/Kolkata", "2026-06-01T00:00"),
    ("Pacific/Apia", "2026-01-01T00:00"),
    ("America/Santiago", "2026-04-04T20:00"),
    ("Asia/Tehran", "2026-03-20T12:00"),
    ("Europe/London", "2026-03-28T20:00"),
    ("Pacific/Chatham", "2026-09-26T06:00"),
    ("UTC", "2026-12-31T12:00"),
]
CHAPTERS = 122 if IS_DEEP else 1
CHAPTER = timedelta(days=30 if IS_DEEP else 1)
PAUSES_MIN = [0, 1, 7, 20, 55] + [180, 600] * IS_DEEP
BEFORE = datetime.min.replace(tzinfo=UTC)
HOURS = [timedelta(hours=hours) for hours in (-3, 3)]


class World:
    """One home and what happens to it; time, chance and jobs outlive the processes."""

    def __init__(self, home: Path, zone: str, begin: str, seed: int) -> None:
        self.home, self.chance = home, random.Random(seed)
        self.clock = SimulatedClock(datetime.fromisoformat(begin).replace(tzinfo=UTC))
        self.sessions = MemorySessions(self.clock)
        self.served: dict[str, datetime] = {}  # by job, the moment up to which its slots are done with
        self.skipped: dict[str, set[datetime]] = {}
        self.wrong: list[str] = []
        self.runs = 0
        self.jobs = [
            Taking(self.clock, Cron("*/30 * * * *" if not IS_DEEP else "30 2 * * *", zone), id="often", takes_s=45),
            Taking(self.clock, Cron("30 1,2 * * *", zone), When(TurnsSince(3)), id="mixed", takes_s=200),
            Taking(self.clock, When(TurnsSince(2) & IdleFor(timedelta(minutes=20))), id="idle", takes_s=5),
            Taking(self.clock, AtStartup(), id="startup", takes_s=2),
        ]
        for job in self.jobs:
            job.most_lines = 100  # ten years of turns are no document

    def notify(self, event: Event) -> None:
        """Hold each run against those before it: one that succeeds serves all slots up to its start at once."""
        if not isinstance(event, JobStarted | JobFinished):
            return
        record, slot = event.record, event.record.cause.scheduled_for
        done, skipped = self.served.get(record.job, BEFORE), self.skipped.setdefault(record.job, set())
        is_beginning = isinstance(event, JobStarted) or record.outcome == "skipped"
        if is_beginning and slot is not None and (slot <= done or slot in skipped):
            self.wrong.append(f"a slot again, served up to {done}, skipped {sorted(skipped)[-3:]}: {record}")
        if isinstance(event, JobStarted):
            self.runs += 1
        elif record.finished is None or record.outcome is None:
            self.wrong.append(f"not closed: {record}")
        elif record.outcome == "success":
            self.served[record.job] = max(record.started, done)
        elif record.outcome == "skipped" and slot is not None:
            skipped.add(slot)

    async def pass_(self, span: timedelta) -> None:
        end = self.clock.monotonic() + span.total_seconds()
        while self.clock.monotonic() < end:
            files = Mortal()
            async with living(
                self.home, self.clock, self.sessions, *self.jobs, files=files, observers=[self]
            ) as runtime:
                for _ in range(self.chance.randint(3, 40)):
                    await self._something(runtime)
                files.is_dead = self.chance.random() < 0.4
            if not files.is_dead and (left := self.open_runs()):
                self.wrong.append(f"left open by a process that closed: {left}")
            self.clock.jump(timedelta(minutes=self.chance.choice([0, 5, 700])))

    async def _something(self, runtime: Runtime) -> None:
        match self.chance.randint(0, 24):
            case 0:
                self.clock.jump(self.chance.choice(HOURS))
            case 1:
                self.clock.jump(timedelta(hours=self.chance.randint(1, 12)))  # the machine sleeps
            case 2 | 3:
                job = self.chance.choice(self.jobs)
                job.error = None if job.error else OSError("no route to host")
            case 4:
                self.jobs[0].takes_s = self.chance.choice([45.0, 4500.0])  # it hangs until its deadline
            case number if number < 15:
                self.sessions.add()
                runtime.jobs.notice()
            case _:
                pass
        await self.clock.advance(timedelta(minutes=self.chance.choice(PAUSES_MIN)))

    async def come_to_rest(self) -> Runtime:
        self.jobs[0].takes_s = 45.0
        for job in self.jobs:
            job.error = None
        async with living(self.home, self.clock, self.sessions, *self.jobs, observers=[self]) as runtime:
            await self.clock.advance(timedelta(hours=8))
            while any(job.running for job in self.jobs):
                await self.clock.advance(timedelta(minutes=5))
            return runtime

    def open_runs(self) -> list[str]:
        return [marker.name for marker in (self.home / "memory/cognition/open").glob("*")]


@pytest.mark.parametrize(("zone", "begin"), ZONES, ids=[zone for zone, _ in ZONES])
async def test_nothing_overlaps_repeats_or_gets_stuck(zone: str, begin: str, tmp_path: Path) -> None:
    """No job overlaps itself, no slot is served twice and of those that were missed one run at most is made up for."""
    without_threads()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    world = World(tmp_path, zone, begin, seed=len(zone))
    for _ in range(CHAPTERS):
        await world.pass_(CHAPTER)
        runtime = await world.come_to_rest()
        await check(world, runtime)
    assert world.runs > 20 * CHAPTERS


async def check(world: World, runtime: Runtime) -> None:
    """Hold a world that has come to rest against the laws."""
    states = {job.spec.id: await runtime.ledger.state(job.spec.id) for job in world.jobs}
    assert world.wrong == []
    assert [job.most_running for job in world.jobs] == [1] * len(world.jobs)
    for job in world.jobs:
        state, latest = states[job.spec.id], served(job.spec, states[job.spec.id], world.clock.now())
        assert (state.failures, state.last_scheduled) == (0, latest)
    assert world.open_runs() == []
    assert all(each.finished is not None and each.outcome is not None for each in await runtime.ledger.runs())
    total = len(world.sessions.log)
    assert total - states["mixed"].cursor < 3
    assert total - states["idle"].cursor < 2
