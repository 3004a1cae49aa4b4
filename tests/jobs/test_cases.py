"""Case H17, from its data: a job that takes longer than its schedule is fast, and the night that is an hour longer."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bumble_core.types.jobs import Cron
from tests.http.streams import case
from tests.jobs.world import MemorySessions, Mortal, SimulatedClock, Taking, living, records, settled, without_threads

H17 = case("H17")


async def test_h17_job_that_is_still_running_is_skipped_and_recorded(tmp_path: Path) -> None:
    without_threads()
    given, then = H17["given"], H17["then"]
    clock = SimulatedClock(datetime.fromisoformat(given["sim_clock"]))
    job = Taking(clock, Cron(given["job"]["schedule"]), id=given["job"]["name"], takes_s=given["job"]["takes_s"])
    async with living(tmp_path, clock, MemorySessions(clock), job) as runtime:
        while clock.now() < datetime.fromisoformat(given["run_until"]):
            await clock.advance(timedelta(seconds=given["clock_step_s"]))
        found = await records(runtime)
    skipped = [each for each in found if each.outcome == "skipped"]
    assert [f"{at:%H:%M}" for at in job.started][: len(then["starts_at"])] == then["starts_at"]
    assert [f"{each.started:%H:%M}" for each in skipped] == then["skipped_at"]
    assert job.most_running == then["max_running_at_once"]
    counts = {outcome: sum(each.outcome == outcome for each in found) for outcome in ("success", "skipped")}
    assert counts == then["run_records"]
    assert all(each.job == "tidy" and each.cause.trigger == "schedule" and each.cause.reason for each in skipped)


async def test_h17_slot_runs_once_in_the_night_that_is_an_hour_longer(tmp_path: Path) -> None:
    without_threads()
    row = H17["given"]["dst_row"]
    begin, end = datetime.fromisoformat(row["from"]), datetime.fromisoformat(row["to"])
    clock = SimulatedClock(begin)
    job = Taking(clock, Cron(row["schedule"], row["timezone"]), takes_s=row["takes_s"])
    async with living(tmp_path, clock, MemorySessions(clock), job):
        await clock.advance(end - begin)
        await settled()
    local = [at.astimezone(ZoneInfo(row["timezone"])) for at in job.started]
    assert [f"{at:%Y-%m-%d %H:%M}" for at in local] == ["2026-10-25 02:30", "2026-10-26 02:30"]


@pytest.mark.parametrize("dies", [False, True], ids=["fails", "dies"])
async def test_slot_whose_run_comes_to_nothing_is_tried_again_though_the_next_was_skipped(
    tmp_path: Path, dies: bool
) -> None:
    without_threads()
    clock = SimulatedClock(datetime.fromisoformat("2026-05-04T09:59:30Z"))
    job, files = Taking(clock, Cron("0 * * * *"), takes_s=3630), Mortal()
    job.error = OSError("no route to host")
    async with living(tmp_path, clock, MemorySessions(clock), job, files=files) as runtime:
        runtime.parts.execute.specs["tidy"] = job.spec.model_copy(update={"timeout": timedelta(hours=2)})
        await clock.advance(timedelta(seconds=3640))
        files.is_dead = dies
        await clock.advance(timedelta(seconds=30))
    job.error, job.takes_s = None, 1
    async with living(tmp_path, clock, MemorySessions(clock), job) as runtime:
        await clock.advance(timedelta(minutes=3))
        found = [(each.outcome, f"{each.cause.scheduled_for:%H:%M}") for each in await records(runtime)]
        state = await runtime.ledger.state("tidy")
    assert found == [("interrupted" if dies else "failure", "10:00"), ("skipped", "11:00"), ("success", "10:00")]
    assert (state.owes_slot, f"{state.last_scheduled:%H:%M}") == (None, "11:00")


async def test_slot_that_is_owed_is_not_skipped_itself_while_its_run_goes_on(tmp_path: Path) -> None:
    without_threads()
    clock = SimulatedClock(datetime.fromisoformat("2026-05-04T09:59:30Z"))
    job = Taking(clock, Cron("* * * * *"), takes_s=600 - 1)
    async with living(tmp_path, clock, MemorySessions(clock), job) as runtime:
        runtime.parts.execute.specs["tidy"] = job.spec.model_copy(update={"timeout": timedelta(hours=2)})
        await clock.advance(timedelta(seconds=640))
        found = [f"{each.cause.scheduled_for:%H:%M}" for each in await records(runtime)]
    assert found[:11] == [f"10:{minute:02}" for minute in range(11)]
