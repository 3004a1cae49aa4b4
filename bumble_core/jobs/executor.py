"""Run one job to its record: the view, the job, its writes, the new state."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta

import structlog

from ..errors import ContractError
from ..metering import MeteredInference
from ..ports import Clock, Documents, Emit, Job, JobLedger, ModelChoices, Sessions
from ..types.base import new_id
from ..types.documents import Document
from ..types.events import JobFinished, JobStarted
from ..types.inference import ModelRef
from ..types.jobs import Cause, Change, JobResult, JobSpec, JobState, JobView, RunRecord
from ..types.settings import Settings

log = structlog.get_logger(__name__)

_FIRST_RETRY = timedelta(minutes=1)
_SECOND_RETRY = timedelta(minutes=30)
_LONGEST_RETRY = timedelta(hours=6)  # a dead endpoint costs at most a few calls a day
_TURNS_PER_RUN = 50


class JobExecutor:
    """A failing job never raises into the conversation; its cursor moves only over turns that it was shown."""

    def __init__(
        self,
        jobs: Mapping[str, Job],
        sessions: Sessions,
        documents: Documents,
        ledger: JobLedger,
        meter: MeteredInference,
        choices: ModelChoices,
        settings: Settings,
        clock: Clock,
        emit: Emit,
    ) -> None:
        self.jobs = jobs
        self._sessions, self._documents, self._ledger = sessions, documents, ledger
        self._meter, self._choices, self._settings = meter, choices, settings
        self._clock, self._emit = clock, emit

    async def __call__(self, job_id: str, cause: Cause) -> RunRecord:
        """Execute `job_id`; where another run of it holds the lease, the record says `skipped`."""
        spec = self.jobs[job_id].spec
        record = RunRecord(
            id=new_id("run"), job=job_id, cause=cause, started=self._clock.now(), models=self.models_for(spec)
        )
        async with self._ledger.lease(job_id) as is_held:
            if not is_held:
                return await self._closed(record, outcome="skipped", summary="another run of this job is under way")
            await self._ledger.open_run(record)
            self._emit(JobStarted(record))
            state = await self._ledger.state(job_id)
            try:
                record, state = await self._work(record, state)
            except asyncio.CancelledError:
                await self._closed(record, outcome="interrupted", summary="the runtime closed")
                raise
            except Exception as error:
                log.warning("job.failed", job=job_id, run_id=record.id, error=type(error).__name__)
                state = self._failed(state)
                record = record.model_copy(update={"outcome": "failure", "error": f"{type(error).__name__}: {error}"})
            if cause.scheduled_for is not None:
                state = state.model_copy(update={"last_scheduled": cause.scheduled_for})
            await self._ledger.save(job_id, state)
            return await self._closed(record)

    def models_for(self, spec: JobSpec) -> tuple[ModelRef, ...]:
        """Return the job's own models, else those of cognition, else those of the conversation."""
        configured = self._settings.jobs.get(spec.id)
        return (
            self._choices.chosen(spec.id)
            or (configured.models if configured else ())
            or self._settings.agent.cognition.models
            or self._choices.chosen("interactive")
            or self._settings.agent.models
        )

    async def _work(self, record: RunRecord, state: JobState) -> tuple[RunRecord, JobState]:
        job = self.jobs[record.job]
        account = self._meter.open(record.id, None)
        try:
            async with asyncio.timeout(job.spec.timeout.total_seconds()):
                turns = await self._sessions.turns(after=state.cursor, limit=_TURNS_PER_RUN)
                paths = dict.fromkeys((*job.spec.inputs, *job.spec.outputs))
                documents = {path: await self._documents.read(path) for path in paths}
                view = JobView(run_id=record.id, turns=turns, documents=documents, models=record.models)
                result = await job.run(view)
                changes = await self._apply(job.spec, view, result)
        finally:
            self._meter.close(record.id)
        cursor = view.turns[result.read - 1].number if result.read else state.cursor
        update = {
            "outcome": "success",
            "summary": result.summary,
            "changes": changes,
            "model": result.model,
            "attempts": result.attempts,
            "usage": account.usage,
        }
        return record.model_copy(update=update), JobState(cursor=cursor, last_scheduled=state.last_scheduled)

    async def _apply(self, spec: JobSpec, view: JobView, result: JobResult) -> tuple[Change, ...]:
        if not 0 <= result.read <= len(view.turns):
            raise ContractError(f"job `{spec.id}` says it read {result.read} of {len(view.turns)} turns")
        if stray := [write.path for write in result.writes if write.path not in spec.outputs]:
            raise ContractError(f"job `{spec.id}` may not write {', '.join(stray)}")
        changes: list[Change] = []
        for write in result.writes:
            before: Document = view.documents[write.path]
            if write.text != before.text:
                after = await self._documents.write(write.path, write.text, before.version)
                changes.append(Change(path=write.path, before=before.version, after=after.version))
        return tuple(changes)

    def _failed(self, state: JobState) -> JobState:
        waits = {0: _FIRST_RETRY, 1: _SECOND_RETRY}
        doublings = min(max(0, state.failures - 1), 10)
        wait = waits.get(state.failures, min(_SECOND_RETRY * 2**doublings, _LONGEST_RETRY))
        return state.model_copy(update={"failures": state.failures + 1, "retry_after": self._clock.now() + wait})

    async def _closed(self, record: RunRecord, **update: str) -> RunRecord:
        finished = self._clock.now()
        duration = (finished - record.started).total_seconds()
        record = record.model_copy(update={**update, "finished": finished, "duration_s": duration})
        await self._ledger.close_run(record)
        self._emit(JobFinished(record))
        return record
