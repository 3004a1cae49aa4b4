"""Run one job to its record: the view, the job, its writes, the new state."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import structlog

from ..errors import AllModelsFailed, ContractError
from ..metering import MeteredInference
from ..ports import Checked, Clock, Documents, Emit, Job, JobLedger, ModelChoices
from ..secrecy import masked_text
from ..types.base import new_id
from ..types.documents import ABSENT, Document
from ..types.events import JobFinished, JobStarted
from ..types.inference import Attempt, ModelRef
from ..types.jobs import Cause, Change, JobResult, JobSpec, JobState, JobView, RunRecord
from ..types.settings import Settings
from .views import Views

log = structlog.get_logger(__name__)

_FIRST_RETRY = timedelta(minutes=1)
_SECOND_RETRY = timedelta(minutes=30)
_LONGEST_RETRY = timedelta(hours=6)  # a dead endpoint costs at most a few calls a day


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExecutor:
    """A failing job never raises into the conversation; its cursor moves only over turns that it was shown.

    `specs` are the jobs' declarations with what the configuration says in their place.
    """

    jobs: Mapping[str, Job]
    specs: Mapping[str, JobSpec]
    views: Views
    documents: Documents
    ledger: JobLedger
    meter: MeteredInference
    choices: ModelChoices
    settings: Settings
    clock: Clock
    emit: Emit

    async def __call__(self, job_id: str, cause: Cause) -> RunRecord:
        """Execute `job_id`; where another run of it holds the lease, the record says `skipped`."""
        spec = self.specs[job_id]
        record = RunRecord(
            id=new_id("run"), job=job_id, cause=cause, started=self.clock.now(), models=self.models_for(spec)
        )
        async with self.ledger.lease(job_id) as is_held:
            if not is_held:
                return await self._closed(record, outcome="skipped", summary="another run of this job is under way")
            await self.ledger.open_run(record)
            self.emit(JobStarted(record))
            account = self.meter.open(record.id, None)
            try:
                record, state = await self._attempt(record, spec)
            except asyncio.CancelledError:
                record = record.model_copy(update={"usage": account.usage})
                await self._closed(record, outcome="interrupted", summary="the runtime closed")
                raise
            finally:
                self.meter.close(record.id)
            await self.ledger.save(job_id, state)
            return await self._closed(record.model_copy(update={"usage": account.usage}))

    def models_for(self, spec: JobSpec) -> tuple[ModelRef, ...]:
        """Return the user's choice for the job, else its own models, else those of cognition or the conversation."""
        return (
            self.choices.chosen(spec.id)
            or spec.models
            or self.settings.agent.cognition.models
            or self.choices.chosen("interactive")
            or self.settings.agent.models
        )

    async def _attempt(self, record: RunRecord, spec: JobSpec) -> tuple[RunRecord, JobState]:
        """Return the record and the next state; what fails waits, and the moment of its schedule is not served."""
        state = await self.ledger.state(spec.id)
        try:
            return await self._work(record, spec, state)
        except (Exception, SystemExit) as error:
            log.warning("job.failed", job=spec.id, run_id=record.id, error=type(error).__name__)
            problem = masked_text(f"{type(error).__name__}: {error}")
            update = {"outcome": "failure", "error": problem, "attempts": _attempts(error)}
            return record.model_copy(update=update), self._failed(state)

    async def _work(self, record: RunRecord, spec: JobSpec, state: JobState) -> tuple[RunRecord, JobState]:
        async with asyncio.timeout(spec.timeout.total_seconds()):
            view = await self.views.build(spec, state, record)
            result = await self.jobs[spec.id].run(view)
            changes = await self._apply(spec, view, result)
        update = {
            "outcome": "success",
            "summary": result.summary,
            "changes": changes,
            "model": result.model,
            "attempts": result.attempts,
        }
        after = JobState(
            cursor=view.turns[result.read - 1].number if result.read else state.cursor,
            note=state.note if result.note is None else result.note,
            last_scheduled=record.cause.scheduled_for or state.last_scheduled,
        )
        return record.model_copy(update=update), after

    async def _apply(self, spec: JobSpec, view: JobView, result: JobResult) -> tuple[Change, ...]:
        if not 0 <= result.read <= len(view.turns):
            raise ContractError(f"job `{spec.id}` says it read {result.read} of {len(view.turns)} turns")
        if stray := [write.path for write in result.writes if not _may_write(spec, write.path)]:
            raise ContractError(f"job `{spec.id}` may not write {', '.join(stray)}")
        changes: list[Change] = []
        for write in result.writes:
            before = view.documents.get(write.path) or Document(path=write.path, text="", version=ABSENT)
            if write.text != before.text:
                after = await self.documents.write(write.path, write.text, before.version)
                changes.append(Change(path=write.path, before=before.version, after=after.version))
        if isinstance(job := self.jobs[spec.id], Checked):
            found = {path: await self.documents.read(path) for path in dict.fromkeys(w.path for w in result.writes)}
            if problem := job.problem(view, result, {**view.documents, **found}):
                raise ContractError(f"job `{spec.id}` is not done: {problem}")
        return tuple(changes)

    def _failed(self, state: JobState) -> JobState:
        waits = {0: _FIRST_RETRY, 1: _SECOND_RETRY}
        doublings = min(max(0, state.failures - 1), 10)
        wait = waits.get(state.failures, min(_SECOND_RETRY * 2**doublings, _LONGEST_RETRY))
        return state.model_copy(update={"failures": state.failures + 1, "retry_after": self.clock.now() + wait})

    async def _closed(self, record: RunRecord, **update: str) -> RunRecord:
        finished = self.clock.now()
        duration = (finished - record.started).total_seconds()
        record = record.model_copy(update={**update, "finished": finished, "duration_s": duration})
        await self.ledger.close_run(record)
        self.emit(JobFinished(record))
        return record


def _attempts(error: BaseException) -> tuple[Attempt, ...]:
    failed = error.attempts if isinstance(error, AllModelsFailed) else ()
    return tuple(Attempt(model=ModelRef.parse(model), error=masked_text(str(each))) for model, each in failed)


def _may_write(spec: JobSpec, path: str) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in spec.outputs)
