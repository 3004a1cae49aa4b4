"""See which jobs are due, at the start, after each turn and when time makes them so, and hand them to the runner."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from ..ports import Clock, Documents, JobLedger, JobRunner, Sessions, Tidied
from ..types.jobs import Cause, JobSpec, JobState
from .bell import Bell
from .due import due, next_due, settled
from .look import Look

log = structlog.get_logger(__name__)

_LONGEST_NAP_S = 600.0  # a machine that slept or a clock that was set is noticed so soon
_LOOK_AGAIN = timedelta(minutes=1)  # after what was due: its run may be another process's, which tells us nothing
_ROUNDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Where one job stands: why it is due now, or when it may be due next."""

    spec: JobSpec
    state: JobState
    cause: Cause | None
    next: datetime | None


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where the controller looks things up, and what it may keep of runs."""

    ledger: JobLedger
    sessions: Sessions
    documents: Documents
    keep_runs: int
    keep_days: int


class JobController:
    """Nobody waits for it: `notice` rings its bell, and a task of its own looks what is due and naps until then."""

    def __init__(self, specs: Sequence[JobSpec], runner: JobRunner, keeping: Keeping, clock: Clock, bell: Bell) -> None:
        self._specs = tuple(specs)
        self._runner, self._keeping, self._clock, self._bell = runner, keeping, clock, bell
        self._task: asyncio.Task[None] | None = None
        self._resting = asyncio.Event()
        self._resting.set()

    async def begin(self) -> None:
        """Close the runs that a dead process left open and begin to watch; what is due at a start is looked up."""
        try:
            await self.recover()
        except Exception as error:
            log.warning("jobs.begin_failed", error=repr(error))
        self._resting.clear()
        self._task = asyncio.create_task(self._watch(), name="jobs")

    async def recover(self) -> None:
        """Mend what dead processes left, and drop the records that are too many or too old."""
        now = self._clock.now()
        if isinstance(self._keeping.documents, Tidied):
            await self._keeping.documents.tidy()
        for record in await self._keeping.ledger.interrupt(now):
            log.warning("job.interrupted", job=record.job, run_id=record.id)
        await self._keeping.ledger.prune(now - timedelta(days=self._keeping.keep_days), self._keeping.keep_runs)

    def notice(self) -> None:
        """Have a look soon: a turn or a run has ended."""
        self._bell.ring()

    async def aclose(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def due_now(self, *, is_starting: bool = False) -> tuple[tuple[str, Cause], ...]:
        """Return the jobs that are due with their causes; nothing is started."""
        found = await self.outlook(is_starting=is_starting)
        return tuple((each.spec.id, each.cause) for each in found if each.cause is not None)

    async def outlook(self, *, is_starting: bool = False) -> tuple[Outlook, ...]:
        """Return where each job stands; one that cannot be looked at is logged and left out."""
        look = await Look.now(self._keeping.sessions, self._keeping.documents, self._clock.now())
        found: list[Outlook] = []
        for spec in self._specs:
            try:
                found.append(await self._outlook(spec, look, is_starting=is_starting))
            except Exception as error:  # a condition may be anyone's
                log.warning("job.tick_failed", job=spec.id, error=repr(error))
        return tuple(found)

    async def tick(self, *, is_starting: bool = False) -> datetime | None:
        """Submit every job that is due; return when to look again although nothing happens."""
        self._bell.hush()
        moments: list[datetime] = []
        for each in await self.outlook(is_starting=is_starting):
            if each.cause is not None:
                log.debug("job.due", job=each.spec.id, trigger=each.cause.trigger, reason=each.cause.reason)
                await self._submit(each.spec.id, each.cause)
                moments.append(self._clock.now() + _LOOK_AGAIN)
            if each.next is not None:
                moments.append(each.next)
        return min(moments, default=None)

    async def settle(self, wait_s: float = 86_400.0) -> None:
        """Run what is due, and what becomes due by that, until nothing is; what takes longer than `wait_s` is cut."""
        for _ in range(_ROUNDS):
            if self._task is None:
                await self.tick()
            await self._looked()
            await self._runner.drain(wait_s)
            if self._resting.is_set() and not self._bell.is_rung:
                return

    async def _looked(self) -> None:
        while self._task is not None and (self._bell.is_rung or not self._resting.is_set()):
            await self._resting.wait()
            await asyncio.sleep(0)

    async def _watch(self) -> None:
        is_starting = True
        while True:
            self._resting.clear()
            coming: datetime | None = self._clock.now() + _LOOK_AGAIN
            try:
                coming = await self.tick(is_starting=is_starting)
                is_starting = False
            except Exception as error:
                log.warning("jobs.tick_failed", error=repr(error))
            self._resting.set()
            await self._nap(coming)

    async def _nap(self, until: datetime | None) -> None:
        """Return when the bell is rung or the moment has come; naps are short where the clock may be set."""
        begun = self._clock.now()
        while not self._bell.is_rung and self._clock.now() >= begun:  # a clock that went back is worth a look
            left = _LONGEST_NAP_S if until is None else (until - self._clock.now()).total_seconds()
            if left <= 0:
                return
            await self._sleep_or_bell(min(left, _LONGEST_NAP_S))

    async def _sleep_or_bell(self, seconds: float) -> None:
        waits = {asyncio.create_task(self._clock.sleep(seconds)), asyncio.create_task(self._bell.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _submit(self, job: str, cause: Cause) -> None:
        try:
            await self._runner.submit(job, cause)
        except Exception as error:
            log.warning("job.submit_failed", job=job, error=repr(error))

    async def _outlook(self, spec: JobSpec, look: Look, *, is_starting: bool) -> Outlook:
        state = await self._keeping.ledger.state(spec.id)
        known = settled(state, look.at)
        if known != state:
            known = await self._keeping.ledger.amend(spec.id, lambda found: settled(found, look.at))
        now = await look.at_job(spec, known)
        cause = due(spec, known, now, is_starting=is_starting)
        return Outlook(spec=spec, state=known, cause=cause, next=next_due(spec, known, now))
