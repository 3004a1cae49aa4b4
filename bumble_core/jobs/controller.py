"""See which jobs are due, at the start and after each turn, and hand them to the runner."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from ..ports import Clock, Job, JobLedger, JobRunner, Sessions
from ..types.jobs import Cause, Cron, JobSpec, TurnsSince
from ..types.settings import JobSettings
from .due import due

log = structlog.get_logger(__name__)


class JobController:
    """`tick` never waits for a run: the runner has it executed beside the conversation."""

    def __init__(
        self,
        jobs: Mapping[str, Job],
        runner: JobRunner,
        ledger: JobLedger,
        sessions: Sessions,
        configured: Mapping[str, JobSettings],
        clock: Clock,
    ) -> None:
        self._specs = [
            configured_spec(job.spec, configured.get(name, JobSettings()))
            for name, job in jobs.items()
            if configured.get(name, JobSettings()).enabled
        ]
        self._runner, self._ledger, self._sessions, self._clock = runner, ledger, sessions, clock
        self._since = clock.now()

    async def due_now(self, *, is_starting: bool = False) -> tuple[tuple[str, Cause], ...]:
        """Return the jobs that are due with their causes; nothing is started."""
        found: list[tuple[str, Cause]] = []
        for spec in self._specs:
            state = await self._ledger.state(spec.id)
            unread = await self._sessions.count(after=state.cursor)
            at = self._clock.now()
            cause = due(spec, state, unread, at, is_starting=is_starting, since=self._since)
            if cause is not None:
                found.append((spec.id, cause))
        return tuple(found)

    async def tick(self, *, is_starting: bool = False) -> None:
        """Submit every job that is due. What fails here is logged: the conversation goes on."""
        try:
            for job_id, cause in await self.due_now(is_starting=is_starting):
                log.debug("job.due", job=job_id, trigger=cause.trigger, reason=cause.reason)
                await self._runner.submit(job_id, cause)
        except Exception as error:
            log.warning("jobs.tick_failed", error=repr(error))


def configured_spec(spec: JobSpec, own: JobSettings) -> JobSpec:
    """Return the job's declaration with what the configuration says in its place."""
    triggers = list(spec.triggers)
    if own.schedule is not None:
        triggers = [t for t in triggers if not isinstance(t, Cron)] + [Cron(expression=own.schedule)]
    if own.turns is not None:
        triggers = [t for t in triggers if not isinstance(t, TurnsSince)] + [TurnsSince(count=own.turns)]
    update: dict[str, object] = {"triggers": tuple(triggers)}
    if own.timeout is not None:
        update["timeout"] = own.timeout
    return spec.model_copy(update=update)
