"""Run one job to its record: the view, the job, its writes, the new state."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import structlog

from ..account import Account
from ..errors import AllModelsFailed, ContractError
from ..metering import MeteredInference
from ..ports import Clock, Emit, Job, JobLedger
from ..secrecy import masked_text
from ..types.base import new_id
from ..types.events import JobFailing, JobFinished, JobStarted
from ..types.inference import Attempt, ModelRef
from ..types.jobs import Cause, Change, JobResult, JobSpec, JobState, JobView, RunRecord
from .applying import Applying
from .bell import Bell
from .courtesy import Courtesy
from .due import due
from .look import Look, watched_by
from .models import JobModels
from .outcomes import charged, cursor_after, failed, requeued, skipped, succeeded, told
from .supervision import GaveWay, supervised, uninterrupted
from .views import Views

log = structlog.get_logger(__name__)

_NOTICE_AT = 5  # failures in a row
_LATEST = 5  # records among which the run under way is found when the first slot is skipped

Move = Callable[[JobState], JobState]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExecutor:
    """A failing job never raises into the conversation; its cursor moves only over turns that it was shown.

    `specs` are the jobs' declarations with what the configuration says in their place; `places` bounds how many run
    side by side. The bell is rung when a run has ended.
    """

    jobs: Mapping[str, Job]
    specs: Mapping[str, JobSpec]
    views: Views
    applying: Applying
    ledger: JobLedger
    meter: MeteredInference
    models: JobModels
    clock: Clock
    emit: Emit
    courtesy: Courtesy
    bell: Bell
    places: asyncio.Semaphore
    chance: Callable[[], float] = random.random
    waiting: set[str] = field(default_factory=set)  # jobs that are about to run here
    passed_over: set[str] = field(default_factory=set)  # jobs whose state was skipped since they last ran here

    async def __call__(self, job_id: str, cause: Cause) -> RunRecord:
        """Execute `job_id`; where another run of it holds the lease, the record says `skipped`."""
        async with self.ledger.lease(job_id) as is_held:
            if not is_held:
                return await self._skipped(job_id, cause)
            self.passed_over.discard(job_id)
            self.waiting.add(job_id)
            try:
                async with self.places:
                    if not await self._is_still_due(self.specs[job_id], cause):
                        return self._passed(job_id, cause, "it is not due any more")
                    record = await self._run(self.specs[job_id], cause)
            finally:
                self.waiting.discard(job_id)
        self.bell.ring()
        return record

    async def _is_still_due(self, spec: JobSpec, cause: Cause) -> bool:
        """Tell whether what was due when the run was asked for still is: another run may have done it meanwhile."""
        if cause.trigger == "manual":
            return True
        state = await self.ledger.state(spec.id)
        look = await Look.now(self.views.sessions, self.views.documents, self.clock.now())
        situation = await look.at_job(spec, state)
        return due(spec, state, situation, is_starting=cause.trigger == "startup") is not None

    async def _run(self, spec: JobSpec, cause: Cause) -> RunRecord:
        state = await self.ledger.state(spec.id)
        record = self._begun(spec.id, cause).model_copy(update={"models": self.models.after(spec, state.failures)})
        await self.ledger.open_run(record)
        self.waiting.discard(spec.id)
        self.emit(JobStarted(record))
        account = self.meter.open(record.id, None)
        try:
            return await self._attempt(record, spec, state, account)
        except asyncio.CancelledError:
            closed = _billed(record, account).model_copy(update={"outcome": "interrupted"})
            await uninterrupted(self._closed(closed.model_copy(update={"summary": "the runtime closed"})))
            raise
        finally:
            self.meter.close(record.id)

    async def _attempt(self, record: RunRecord, spec: JobSpec, state: JobState, account: Account) -> RunRecord:
        """Return the closed record; what fails waits, and the slot of its schedule is not served."""
        try:
            view, result = await supervised(
                self._think(record, spec, state), record.id, spec.timeout, self.clock, self.courtesy
            )
            return await uninterrupted(self._finish(record, spec, view, result, account))
        except GaveWay:
            move: Move = partial(requeued, cause=record.cause, at=self.clock.now())
            update: dict[str, object] = {"outcome": "interrupted", "summary": "gave the model to a turn; queued again"}
        except Exception as error:
            log.info("job.failed", job=spec.id, run_id=record.id, error=type(error).__name__)  # the run says so
            move = partial(failed, cause=record.cause, at=self.clock.now(), chance=self.chance())
            problem = masked_text(f"{type(error).__name__}: {error}")
            update = {"outcome": "failure", "error": problem, "attempts": _attempts(error)}
        return await uninterrupted(self._ended(_billed(record.model_copy(update=update), account), move))

    async def _think(self, record: RunRecord, spec: JobSpec, state: JobState) -> tuple[JobView, JobResult]:
        view = await self.views.build(spec, state, record)
        try:
            return view, await self.jobs[spec.id].run(view)
        except SystemExit as error:  # in a task it would end the program
            raise ContractError(f"SystemExit: {error}") from error

    async def _finish(
        self, record: RunRecord, spec: JobSpec, view: JobView, result: JobResult, account: Account
    ) -> RunRecord:
        async def note(changes: tuple[Change, ...]) -> None:
            await self.ledger.open_run(record.model_copy(update={"changes": changes}))

        before = (await self.ledger.state(spec.id)).cursor
        changes = await self.applying.apply(spec, self.jobs[spec.id], view, result, note)
        watched = await watched_by(spec, self.views.documents)
        update: dict[str, object] = {
            "outcome": "success",
            "summary": result.summary or told(view, result, changes),
            "changes": changes,
            "removed": result.removed,
            "cursor": (before, cursor_after(view, result, before)),
            "models": view.models,
            "model": result.model,
            "attempts": result.attempts,
        }

        def move(state: JobState) -> JobState:
            return succeeded(spec, state, view, result, watched)

        record = _billed(record.model_copy(update=update), account)
        await self.ledger.open_run(record)  # a crash from here on leaves what the run has done
        return await self._ended(record, move)

    async def _ended(self, record: RunRecord, move: Move) -> RunRecord:
        """Save the new state, then close the record."""

        def moved(state: JobState) -> JobState:
            return charged(move(state), record.usage, record.started)

        state = await self.ledger.amend(record.job, moved)
        if record.outcome == "failure" and state.failures == _NOTICE_AT:
            log.error("job.failing", job=record.job, failures=state.failures, error=record.error)
            self.emit(JobFailing(record, state.failures))
        return await self._closed(record)

    async def _skipped(self, job_id: str, cause: Cause) -> RunRecord:
        """Record that a trigger found the job running; a slot of a schedule counts as served then.

        Nothing is recorded of a slot that the running run serves itself, nor twice of one state while it lasts.
        """
        record = self._passed(job_id, cause, "another run of this job is under way")
        if await self._is_being_answered(job_id, cause):
            return record
        if (slot := cause.scheduled_for) is not None:
            under_way = await self._under_way(job_id)
            owed = under_way.cause.scheduled_for if under_way is not None else None
            await self.ledger.amend(job_id, partial(skipped, slot=slot, under_way=owed))
        elif cause.trigger == "state":
            if job_id in self.passed_over:
                return record
            self.passed_over.add(job_id)
        return await self._closed(record)

    async def _is_being_answered(self, job_id: str, cause: Cause) -> bool:
        """Tell whether the run that is under way began when the trigger had its reason already, or has just ended."""
        if job_id in self.waiting or not await self._is_still_due(self.specs[job_id], cause):
            return True
        if cause.scheduled_for is not None and cause.scheduled_for == (await self.ledger.state(job_id)).owes_slot:
            return True
        under_way = await self._under_way(job_id)
        if under_way is None or cause.trigger == "manual":
            return False
        since = cause.scheduled_for
        if since is None:
            since = (await Look.now(self.views.sessions, self.views.documents, self.clock.now())).last_turn
        return since is None or since <= under_way.started

    async def _under_way(self, job_id: str) -> RunRecord | None:
        latest = await self.ledger.runs(job_id, limit=_LATEST)
        return next((record for record in latest if record.finished is None), None)

    def _passed(self, job_id: str, cause: Cause, why: str) -> RunRecord:
        return self._begun(job_id, cause).model_copy(update={"outcome": "skipped", "summary": why})

    def _begun(self, job_id: str, cause: Cause) -> RunRecord:
        return RunRecord(id=new_id("run"), job=job_id, cause=cause, started=self.clock.now())

    async def _closed(self, record: RunRecord) -> RunRecord:
        finished = max(self.clock.now(), record.started)  # the clock may have been set back meanwhile
        duration = (finished - record.started).total_seconds()
        record = record.model_copy(update={"finished": finished, "duration_s": duration})
        await self.ledger.close_run(record)
        self.emit(JobFinished(record))
        return record


def _billed(record: RunRecord, account: Account) -> RunRecord:
    priced = [spent.cost for spent in account.spent.values() if spent.cost is not None]
    update = {"usage": account.usage, "calls": account.calls.total(), "cost": sum(priced) if priced else None}
    return record.model_copy(update=update)


def _attempts(error: BaseException) -> tuple[Attempt, ...]:
    failed = error.attempts if isinstance(error, AllModelsFailed) else ()
    return tuple(Attempt(model=ModelRef.parse(model), error=masked_text(str(each))) for model, each in failed)
