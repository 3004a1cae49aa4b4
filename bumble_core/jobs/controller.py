"""See which jobs are due, at the start and after each turn, and hand them to the runner."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from ..ports import Clock, Documents, JobLedger, JobRunner, Sessions
from ..types.jobs import Cause, JobSpec
from .due import due
from .look import look

log = structlog.get_logger(__name__)


class JobController:
    """`tick` never waits for a run: the runner has it executed beside the conversation."""

    def __init__(
        self,
        specs: Sequence[JobSpec],
        runner: JobRunner,
        ledger: JobLedger,
        kept: tuple[Sessions, Documents],
        clock: Clock,
    ) -> None:
        self._specs = tuple(specs)
        self._runner, self._ledger, self._clock = runner, ledger, clock
        self._sessions, self._documents = kept
        self._since = clock.now()

    async def begin(self) -> None:
        """Close the runs that a dead process left open, then submit what is due at a start."""
        try:
            for record in await self._ledger.interrupt(self._clock.now()):
                log.warning("job.interrupted", job=record.job, run_id=record.id)
        except Exception as error:
            log.warning("jobs.begin_failed", error=repr(error))
        await self.tick(is_starting=True)

    async def due_now(self, *, is_starting: bool = False) -> tuple[tuple[str, Cause], ...]:
        """Return the jobs that are due with their causes; nothing is started."""
        found = [(spec.id, await self._due(spec, is_starting=is_starting)) for spec in self._specs]
        return tuple((job_id, cause) for job_id, cause in found if cause is not None)

    async def tick(self, *, is_starting: bool = False) -> None:
        """Submit every job that is due. What fails here is logged: the other jobs and the conversation go on."""
        for spec in self._specs:
            try:
                cause = await self._due(spec, is_starting=is_starting)
                if cause is not None:
                    log.debug("job.due", job=spec.id, trigger=cause.trigger, reason=cause.reason)
                    await self._runner.submit(spec.id, cause)
            except Exception as error:
                log.warning("job.tick_failed", job=spec.id, error=repr(error))

    async def _due(self, spec: JobSpec, *, is_starting: bool) -> Cause | None:
        state = await self._ledger.state(spec.id)
        now = await look(spec, state, self._sessions, self._documents, self._clock.now())
        return due(spec, state, now, is_starting=is_starting, since=self._since)
