"""Execute jobs as tasks of this process."""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from ..ports import Execute
from ..types.jobs import Cause, RunRecord

log = structlog.get_logger(__name__)


class InProcessJobRunner:
    """Owns the tasks it starts. That one job runs once at a time is the ledger's lease to see to."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._tasks: set[asyncio.Task[RunRecord]] = set()

    async def submit(self, job_id: str, cause: Cause) -> None:
        task = asyncio.create_task(self._run(job_id, cause), name=f"job:{job_id}")
        self._tasks.add(task)
        task.add_done_callback(partial(self._forget, job_id))

    async def drain(self, wait_s: float) -> None:
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=wait_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _run(self, job_id: str, cause: Cause) -> RunRecord:
        return await self._execute(job_id, cause)

    def _forget(self, job_id: str, task: asyncio.Task[RunRecord]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("job.crashed", job=job_id, error=repr(error))
