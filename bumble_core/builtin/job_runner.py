"""Execute jobs as tasks of this process, one per job at a time."""

from __future__ import annotations

import asyncio
from functools import partial

import structlog

from ..ports import Execute
from ..types.jobs import Cause, RunRecord

log = structlog.get_logger(__name__)


class InProcessJobRunner:
    """Owns the tasks it starts. A job that is running here is not started again; the ledger's lease covers the rest."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._running: dict[str, asyncio.Task[RunRecord]] = {}

    async def submit(self, job_id: str, cause: Cause) -> None:
        if job_id in self._running:
            return
        task = asyncio.create_task(self._run(job_id, cause), name=f"job:{job_id}")
        self._running[job_id] = task
        task.add_done_callback(partial(self._forget, job_id))

    async def drain(self, wait_s: float) -> None:
        if not (tasks := list(self._running.values())):
            return
        _, late = await asyncio.wait(tasks, timeout=wait_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _run(self, job_id: str, cause: Cause) -> RunRecord:
        return await self._execute(job_id, cause)

    def _forget(self, job_id: str, task: asyncio.Task[RunRecord]) -> None:
        self._running.pop(job_id, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("job.crashed", job=job_id, error=repr(error))
