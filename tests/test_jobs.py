"""Background jobs: when they run, what they leave behind, and that they never disturb the conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bumble_core import ConfigError, InferenceError, assemble, assistant
from bumble_core.builtin.system import SystemClock
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import Completion, ModelRef, Request, Usage
from bumble_core.types.jobs import AtStartup, Cron, JobResult, JobSpec, JobView, TurnsSince, When, Write
from tests.jobs.world import SimulatedClock
from tests.pieces import filling
from tests.shipped import construct_shipped

Build = Callable[..., Any]
JOB = "working_memory_consolidation"
MEMORY = "working/WORKING_MEMORY.md"
NEW = '{"drop": [], "change": [], "add": [{"heading": "Active Tasks", "text": "Ship it", "turn": 6}]}'
OTHERS = ("verification_review", "semantic_memory_extraction", "skill_catalog")
NO_CRON = {
    JOB: {"schedule": "0 4 29 2 *"},  # a leap day: the schedule stays out of the way
    **{other: {"enabled": False} for other in OTHERS},
}


def reply(request: Request) -> Any:
    """Answer a turn with a word and a job with a working memory."""
    if request.purpose != "job":
        return assistant("yes")
    usage = Usage(input_tokens=100, output_tokens=20)
    return Completion(message=assistant(NEW), finish="stop", model=ModelRef.parse("scripted:model"), usage=usage)


def reply_without_memory(request: Request) -> Any:
    return assistant("yes") if request.purpose != "job" else InferenceError("no route to host")


@pytest.fixture
def agent(settings: Callable[..., Any]) -> Build:
    """Assemble a runtime with a clock of its own, and a script that answers by purpose."""

    def build(
        answer: Any = reply, *, clock: Any = None, run_jobs: bool = True, job: Any = None, **sections: Any
    ) -> Any:
        script = ScriptedProvider([answer] * 200)
        plugins = {**construct_shipped("router", "judge", "compactor", "jobs"), "scripted": script}
        if job is not None:
            plugins["own"] = filling(jobs=[job])
        found = settings(**{"jobs": NO_CRON, **sections})
        return assemble(found, plugins=plugins, discovers=False, clock=clock or SimulatedClock(), run_jobs=run_jobs)

    return build


async def talk(runtime: Any, turns: int) -> None:
    for number in range(turns):
        await runtime.answer(f"message {number}")


async def settle(runtime: Any) -> None:
    """Wait until nothing is due and nothing runs."""
    await runtime.jobs.settle(5)


async def test_six_turns_lead_to_one_run_with_its_record_and_its_file(agent: Build) -> None:
    async with agent() as runtime:
        await talk(runtime, 6)
        await settle(runtime)
        await talk(runtime, 1)
        (record,) = await runtime.ledger.runs()
        document = await runtime.documents.read(MEMORY)
    assert (record.job, record.outcome, record.cause.trigger) == (JOB, "success", "state")
    assert (record.model, record.usage.input_tokens) == (ModelRef.parse("scripted:model"), 100)
    assert [(change.path, change.after) for change in record.changes] == [(MEMORY, document.version)]
    assert "## Active Tasks\n\n- Ship it [turn 6]\n" in document.text


async def test_record_of_a_run_lies_where_its_day_says(agent: Build) -> None:
    async with agent() as runtime:
        await talk(runtime, 6)
        await settle(runtime)
    (file,) = (runtime.home / "memory" / "cognition" / "runs" / "2026" / "03" / "01").iterdir()
    assert file.name.startswith(f"{JOB}-20260301T12")


async def test_failing_job_waits_longer_each_time_and_never_disturbs_the_turn(agent: Build) -> None:
    clock, waits = SimulatedClock(), []
    async with agent(reply_without_memory, clock=clock) as runtime:
        await talk(runtime, 6)
        for _ in range(7):
            await settle(runtime)
            state = await runtime.ledger.state(JOB)
            waits.append(state.retry_after - clock.now())
            clock.jump(waits[-1])
            assert (await runtime.answer("still there?")).status == "done"
    hours = [1 / 60, 0.5, 1, 2, 4, 6, 6]
    assert all(timedelta(hours=h) <= wait <= 1.2 * timedelta(hours=h) for h, wait in zip(hours, waits, strict=True))


async def test_failing_job_is_not_tried_before_its_time(agent: Build) -> None:
    async with agent(reply_without_memory) as runtime:
        for _ in range(10):
            await talk(runtime, 1)
            await settle(runtime)
        records = await runtime.ledger.runs()
    assert [record.outcome for record in records] == ["failure"]
    assert "no route to host" in (records[0].error or "")


async def test_job_without_a_configured_model_asks_those_that_the_conversation_found(agent: Build) -> None:
    async with agent(agent={"models": []}) as runtime:
        for _ in range(6):
            await runtime.answer("hi", models=(ModelRef.parse("scripted:model"),))
            await settle(runtime)
        (record,) = await runtime.ledger.runs()
    assert (record.outcome, [str(model) for model in record.models]) == ("success", ["scripted:model"])


class Counting:
    """A job that waits to be let go, reads some turns and writes how many there were."""

    def __init__(
        self, *triggers: Any, read: int = 100, timeout_s: float = 60, error: BaseException | None = None
    ) -> None:
        self.spec = JobSpec(
            id="counting",
            summary="Count turns",
            triggers=triggers or (When(TurnsSince(2)),),
            outputs=("count.md",),
            timeout=timedelta(seconds=timeout_s),
        )
        self.may_end, self.has_begun = asyncio.Event(), asyncio.Event()
        self.may_end.set()
        self.views: list[JobView] = []
        self._read, self._error = read, error

    async def run(self, view: JobView) -> JobResult:
        self.views.append(view)
        self.has_begun.set()
        await self.may_end.wait()
        if self._error is not None:
            raise self._error
        read = min(self._read, len(view.turns))
        return JobResult(summary="counted", read=read, writes=(Write(path="count.md", text=f"{read}\n"),))


async def test_cursor_moves_only_over_turns_that_were_read(agent: Build) -> None:
    job = Counting(read=1)
    async with agent(job=job) as runtime:
        await talk(runtime, 2)
        await settle(runtime)
        state = await runtime.ledger.state("counting")
        await talk(runtime, 1)
        await settle(runtime)
    assert state.cursor == 1
    assert [[turn.number for turn in view.turns] for view in job.views] == [[1, 2], [2, 3]]


async def test_job_that_is_running_runs_again_when_it_has_ended_and_not_before(agent: Build) -> None:
    job = Counting()
    job.may_end.clear()
    async with agent(job=job) as runtime:
        await talk(runtime, 2)
        await job.has_begun.wait()
        await talk(runtime, 3)
        job.may_end.set()
        await settle(runtime)
    assert [[turn.number for turn in view.turns] for view in job.views] == [[1, 2], [3, 4, 5]]


async def test_job_that_another_process_runs_is_skipped(agent: Build) -> None:
    job = Counting()
    async with agent(job=job) as runtime, runtime.ledger.lease("counting") as is_held:
        assert is_held
        await talk(runtime, 2)
        await settle(runtime)
        (record,) = await runtime.ledger.runs("counting")
    assert (record.outcome, job.views) == ("skipped", [])


async def test_turn_does_not_wait_for_a_job(agent: Build) -> None:
    job = Counting()
    job.may_end.clear()
    async with agent(job=job) as runtime:
        await asyncio.wait_for(talk(runtime, 3), 10)
        job.may_end.set()


async def test_without_jobs_what_is_due_stays_due(agent: Build) -> None:
    async with agent(run_jobs=False) as runtime:
        await talk(runtime, 6)
        due = await runtime.jobs.due_now()
        records = await runtime.ledger.runs()
    assert ([job for job, _ in due], records) == ([JOB], ())


async def test_closing_the_runtime_interrupts_a_run_and_records_it(agent: Build) -> None:
    job = Counting()
    job.may_end.clear()
    async with agent(job=job) as runtime:
        await talk(runtime, 2)
        await job.has_begun.wait()
        await runtime.parts.job_runner.drain(0)
        (record,) = await runtime.ledger.runs("counting")
        state = await runtime.ledger.state("counting")
    assert (record.outcome, record.finished is not None, state.cursor) == ("interrupted", True, 0)


@pytest.mark.parametrize(
    ("job", "error"),
    [
        (Counting(error=ValueError("a bug")), "ValueError: a bug"),
        (Counting(error=SystemExit(3)), "SystemExit: 3"),
        (Counting(read=-1), "read -1 of 2 turns"),
    ],
    ids=["raises", "exits", "claims-nonsense"],
)
async def test_job_that_breaks_is_a_failure_with_its_reason(agent: Build, job: Counting, error: str) -> None:
    async with agent(job=job) as runtime:
        await talk(runtime, 2)
        await settle(runtime)
        (record,) = await runtime.ledger.runs("counting")
        state = await runtime.ledger.state("counting")
    assert (record.outcome, state.cursor, record.changes) == ("failure", 0, ())
    assert error in (record.error or "")


async def test_configured_timeout_ends_a_run(agent: Build) -> None:
    job = Counting()
    job.may_end.clear()
    jobs = {**NO_CRON, "counting": {"timeout": 0.05}}
    async with agent(job=job, jobs=jobs, clock=SystemClock()) as runtime:
        await talk(runtime, 2)
        await settle(runtime)
        (record,) = [each for each in await runtime.ledger.runs("counting") if each.outcome != "skipped"]
    assert (record.outcome, "TimeoutError" in (record.error or "")) == ("failure", True)


async def test_job_may_write_only_what_it_declared(agent: Build) -> None:
    class Stray(Counting):
        async def run(self, view: JobView) -> JobResult:
            return JobResult(summary="", read=0, writes=(Write(path="elsewhere.md", text="x"),))

    async with agent(job=Stray()) as runtime:
        await talk(runtime, 2)
        await settle(runtime)
        (record,) = await runtime.ledger.runs("counting")
        assert await runtime.documents.list() == ()
    assert "may not write elsewhere.md" in (record.error or "")


async def test_scheduled_run_that_failed_is_tried_again_for_the_same_moment(agent: Build) -> None:
    clock, job = SimulatedClock(datetime(2026, 3, 1, 3, 59, tzinfo=UTC)), Counting(Cron("0 4 * * *"))
    job._error = InferenceError("no route to host")
    async with agent(job=job, clock=clock) as runtime:
        await settle(runtime)
        clock.jump(timedelta(minutes=2))
        await talk(runtime, 1)
        await settle(runtime)
        clock.jump(timedelta(minutes=2))
        job._error = None
        await talk(runtime, 1)
        await settle(runtime)
        records = await runtime.ledger.runs("counting")
    assert [record.outcome for record in records] == ["success", "failure"]
    assert {record.cause.scheduled_for for record in records} == {datetime(2026, 3, 1, 4, tzinfo=UTC)}


async def test_startup_job_runs_when_the_runtime_starts_and_not_again(agent: Build) -> None:
    job = Counting(AtStartup())
    async with agent(job=job) as runtime:
        await talk(runtime, 2)
        await settle(runtime)
    assert len(job.views) == 1


async def test_disabled_job_never_runs(agent: Build) -> None:
    job = Counting()
    async with agent(job=job, jobs={**NO_CRON, "counting": {"enabled": False}}) as runtime:
        await talk(runtime, 3)
        await settle(runtime)
    assert job.views == []


def test_schedule_that_is_none_is_an_error_at_assembly(agent: Build) -> None:
    with pytest.raises(ConfigError, match=r"jobs\.counting\.schedule: `every day` is not a five-field cron expression"):
        agent(job=Counting(), jobs={"counting": {"schedule": "every day"}})
