"""What background cognition leaves behind."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bumble_core.atomic import PART_SUFFIX
from bumble_core.builtin.ledger import FileJobLedger
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import ContractError
from bumble_core.ports import JobLedger
from bumble_core.types.jobs import Cause, JobState, RunRecord
from tests.builtin.storage_processes import running
from tests.builtin.storage_support import NOON, CountingFiles, FullDisk, WoundClock


@pytest.fixture
def ledger(tmp_path: Path, clock: WoundClock) -> FileJobLedger:
    return FileJobLedger(tmp_path, SystemFiles(), clock)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "memory/cognition"


def run(id: str = "run_1", job: str = "tidy", started: datetime = NOON) -> RunRecord:
    return RunRecord(id=id, job=job, cause=Cause(trigger="manual", reason="a test"), started=started)


def ended(record: RunRecord) -> RunRecord:
    return record.model_copy(update={"finished": record.started + timedelta(seconds=2), "outcome": "success"})


def test_it_fills_the_port_and_touches_nothing_before_its_first_use(tmp_path: Path, clock: WoundClock) -> None:
    assert isinstance(FileJobLedger(tmp_path / "home", SystemFiles(), clock), JobLedger)
    assert not (tmp_path / "home").exists()


async def test_a_state_comes_back_and_a_job_without_one_starts_anew(ledger: FileJobLedger, folder: Path) -> None:
    assert await ledger.state("tidy") == JobState()
    state = JobState(cursor=7, last_scheduled=NOON, failures=2)
    await ledger.save("tidy", state)
    assert await ledger.state("tidy") == state
    assert json.loads((folder / "jobs/tidy.json").read_text())["cursor"] == 7


async def test_a_damaged_state_is_put_aside_with_a_warning(ledger: FileJobLedger, folder: Path) -> None:
    await ledger.save("tidy", JobState(cursor=7))
    (folder / "jobs/tidy.json").write_text('{"cursor": 7')
    with capture_logs() as logs:
        assert await ledger.state("tidy") == JobState()
    assert [entry["event"] for entry in logs] == ["ledger.file_skipped"]
    assert (folder / "jobs/tidy.damaged").read_text() == '{"cursor": 7'


async def test_a_run_is_on_disk_while_it_works_and_again_when_it_ends(ledger: FileJobLedger, folder: Path) -> None:
    record = run(started=NOON + timedelta(microseconds=5))
    await ledger.open_run(record)
    path = folder / "runs/2026/03/01/tidy-20260301T120000.000005Z.json"
    assert json.loads(path.read_text())["finished"] is None
    await ledger.close_run(ended(record))
    assert await ledger.runs() == (ended(record),)
    assert [one for one in folder.rglob("*") if one.is_file()] == [path]


async def test_runs_of_one_job_and_one_moment_have_files_of_their_own(ledger: FileJobLedger) -> None:
    for id in ("run_1", "run_2", "run_3"):
        await ledger.open_run(run(id))
    await ledger.close_run(ended(run("run_2")))
    assert await ledger.runs() == (run("run_3"), ended(run("run_2")), run("run_1"))


async def test_runs_are_listed_newest_first_over_days_jobs_and_years(ledger: FileJobLedger) -> None:
    starts = [NOON + timedelta(days=days) for days in (0, 400, 1, 35)] + [NOON + timedelta(seconds=1)]
    for number, started in enumerate(starts):
        await ledger.open_run(run(f"run_{number}", "audit" if number % 2 else "tidy", started))
    assert [record.id for record in await ledger.runs()] == ["run_1", "run_3", "run_2", "run_4", "run_0"]
    assert [record.id for record in await ledger.runs("audit")] == ["run_1", "run_3"]
    assert [record.id for record in await ledger.runs("tidy", limit=2)] == ["run_2", "run_4"]


async def test_a_limit_bounds_what_is_read(ledger: FileJobLedger, tmp_path: Path, clock: WoundClock) -> None:
    for number in range(30):
        await ledger.open_run(run(f"run_{number}", started=NOON + timedelta(hours=number)))
    files = CountingFiles()
    newest = await FileJobLedger(tmp_path, files, clock).runs("tidy", limit=3)
    assert [record.id for record in newest] == ["run_29", "run_28", "run_27"]
    assert files.reads == 3


async def test_a_record_that_does_not_parse_is_skipped_with_a_warning(ledger: FileJobLedger, folder: Path) -> None:
    for number in range(2):
        await ledger.open_run(run(f"run_{number}", started=NOON + timedelta(hours=number)))
    newest = max((folder / "runs").rglob("*.json"))
    newest.write_text("{")
    with capture_logs() as logs:
        assert [record.id for record in await ledger.runs(limit=1)] == ["run_0"]
    assert [(entry["event"], entry["path"]) for entry in logs] == [("ledger.file_skipped", str(newest))]


async def test_keys_of_another_version_are_ignored(ledger: FileJobLedger, folder: Path) -> None:
    await ledger.open_run(run())
    (path,) = (folder / "runs").rglob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "mood": "good"}))
    assert await ledger.runs() == (run(),)


async def test_a_lease_has_one_holder_per_job(ledger: FileJobLedger, tmp_path: Path, clock: WoundClock) -> None:
    other = FileJobLedger(tmp_path, SystemFiles(), clock)
    async with ledger.lease("tidy") as first, other.lease("tidy") as second, other.lease("audit") as third:
        assert (first, second, third) == (True, False, True)
    async with other.lease("tidy") as later:
        assert later


async def test_a_run_of_a_dead_process_is_closed_and_of_a_living_one_is_not(
    ledger: FileJobLedger, tmp_path: Path
) -> None:
    with running("hold_job", tmp_path):
        async with ledger.lease("tidy") as held:
            assert not held
        assert await ledger.interrupt(NOON) == ()
    (record,) = await ledger.interrupt(NOON + timedelta(seconds=90))
    assert (record.outcome, record.duration_s) == ("interrupted", 90.0)
    assert record.error == "the process that ran it ended before the run did"
    assert await ledger.runs() == (record,)
    assert await ledger.interrupt(NOON) == ()


async def test_interrupting_reads_open_runs_only(ledger: FileJobLedger, tmp_path: Path, clock: WoundClock) -> None:
    for number in range(20):
        record = run(f"run_{number}", started=NOON + timedelta(hours=number))
        await ledger.open_run(record)
        if number:
            await ledger.close_run(ended(record))
    files = CountingFiles()
    closed = await FileJobLedger(tmp_path, files, clock).interrupt(NOON)
    assert [record.id for record in closed] == ["run_0"]
    assert files.reads <= 2


async def test_leftovers_of_a_killed_process_go_with_the_next_start(ledger: FileJobLedger, folder: Path) -> None:
    await ledger.open_run(run())
    await ledger.save("tidy", JobState())
    left = [folder / name / f".1{PART_SUFFIX}" for name in ("jobs", "open", "runs/2026/03/01")]
    for path in left:
        path.touch()
    await ledger.interrupt(NOON)
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize(("operation", "after"), [("open", 1), ("write", 5), ("fsync", 1), ("replace", 1)])
async def test_a_run_that_could_not_be_recorded_does_not_stay_open(
    ledger: FileJobLedger, folder: Path, tmp_path: Path, clock: WoundClock, operation: str, after: int
) -> None:
    with pytest.raises(OSError, match="No space left"):
        await FileJobLedger(tmp_path, FullDisk(operation, after), clock).open_run(run())
    assert await ledger.interrupt(NOON) == ()
    assert [path for path in folder.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("job", ["", "../x", "a/b", "Tidy", "a-b", "a__b"])
async def test_a_job_id_that_is_no_name_is_refused(ledger: FileJobLedger, job: str) -> None:
    with pytest.raises(ContractError, match="job id"):
        await ledger.save(job, JobState())
    with pytest.raises(ContractError, match="job id"):
        await ledger.open_run(run(job=job))
