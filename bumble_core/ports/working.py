"""Background cognition: jobs, their ledger and who runs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol, runtime_checkable

from ..types.documents import Document
from ..types.jobs import Cause, JobResult, JobSpec, JobState, JobView, RunRecord


@runtime_checkable
class Job(Protocol):
    """Background cognition: reads a view, returns what it would write."""

    @property
    def spec(self) -> JobSpec: ...
    async def run(self, view: JobView) -> JobResult: ...


@runtime_checkable
class Checked(Protocol):
    """A job that can tell whether it has done its work: success is what it says of the documents, not the model.

    `problem` is asked after the writes, with the documents of the view as they are now; it returns what is missing,
    or an empty text.
    """

    def problem(self, view: JobView, result: JobResult, documents: Mapping[str, Document]) -> str: ...


@runtime_checkable
class JobLedger(Protocol):
    """States of jobs and records of runs, under `memory/cognition/` of the home.

    `lease` gives True to one holder per job on a home, across processes; a dead process gives it up. `amend` changes
    a state although others do so too. `open_run` is durable before the job works, and is called again as it goes on;
    `interrupt` closes the open runs of dead processes and returns them; `prune` drops the records of closed runs that
    started before `before`, and the oldest where there are more than `most`, and returns how many.
    """

    async def state(self, job: str) -> JobState: ...
    async def save(self, job: str, state: JobState) -> None: ...
    async def amend(self, job: str, change: Callable[[JobState], JobState]) -> JobState: ...
    async def open_run(self, record: RunRecord) -> None: ...
    async def close_run(self, record: RunRecord) -> None: ...
    async def runs(self, job: str | None = None, limit: int | None = None) -> tuple[RunRecord, ...]: ...
    async def interrupt(self, at: datetime) -> tuple[RunRecord, ...]: ...
    async def prune(self, before: datetime, most: int) -> int: ...
    def lease(self, job: str) -> AbstractAsyncContextManager[bool]: ...


class Execute(Protocol):
    """Runs one job to its record; the view is built when it runs."""

    def __call__(self, job_id: str, cause: Cause) -> Awaitable[RunRecord]: ...


@runtime_checkable
class JobRunner(Protocol):
    """Has jobs executed, in this process or elsewhere, without making the caller wait.

    `drain` waits for the runs that were started here, at most `wait_s`, and cancels the rest.
    """

    async def submit(self, job_id: str, cause: Cause) -> None: ...
    async def drain(self, wait_s: float) -> None: ...
