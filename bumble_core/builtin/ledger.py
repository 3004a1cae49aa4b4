"""States of jobs and records of runs as JSON files under `home/memory/cognition/`.

    runs/YYYY/MM/DD/<job>-<timestamp>.json   one record per run; the timestamp is its start, in UTC
    jobs/<job>.json                          where each job stands
    open/<job>-<timestamp>.json              an empty file for each run that has not ended

The last folder is what lets the next start find the runs of dead processes without reading every record.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import structlog

from ..atomic import sweep, write_atomically
from ..errors import ContractError
from ..ports import Clock, Files
from ..types.base import Value
from ..types.jobs import JobState, RunRecord
from .leases import Leases
from .run_folders import RECORD, days, names, prune
from .stored import from_json, problem_of, to_json

log = structlog.get_logger(__name__)

_JOB = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_DIED = "the process that ran it ended before the run did"

V = TypeVar("V", bound=Value)
T = TypeVar("T")


class FileJobLedger:
    """Fills the `JobLedger` port. A file that cannot be read is passed over with a warning."""

    def __init__(self, home: Path, files: Files, clock: Clock) -> None:
        self._folder = home / "memory" / "cognition"
        self._files = files
        self._leases = Leases(home, clock)

    def lease(self, job: str) -> AbstractAsyncContextManager[bool]:
        return self._leases.hold(_lease(job))

    async def state(self, job: str) -> JobState:
        """Return the state of a job. A whole file replaces a whole file, so only one that is damaged needs the lock."""
        state = await asyncio.to_thread(self._peek, self._state_file(job))
        return await self._locked(lambda: self._state(job)) if state is None else state

    async def save(self, job: str, state: JobState) -> None:
        await self._locked(lambda: self._put(self._state_file(job), state))

    async def amend(self, job: str, change: Callable[[JobState], JobState]) -> JobState:
        return await self._locked(lambda: self._amend(job, change))

    async def open_run(self, record: RunRecord) -> None:
        await self._locked(lambda: self._open_run(record))

    async def close_run(self, record: RunRecord) -> None:
        await self._locked(lambda: self._close_run(record))

    async def runs(self, job: str | None = None, limit: int | None = None) -> tuple[RunRecord, ...]:
        """Return records, the newest first; only as many files are read as `limit` needs."""
        return await asyncio.to_thread(lambda: tuple(itertools.islice(self._records(job), limit)))

    async def interrupt(self, at: datetime) -> tuple[RunRecord, ...]:
        return await self._locked(lambda: self._interrupt(at))

    async def prune(self, before: datetime, most: int) -> int:
        return await self._locked(lambda: prune(self._folder / "runs", self._files, before, most, self._is_open))

    async def _locked(self, work: Callable[[], T]) -> T:
        def locked() -> T:
            with self._leases.writing("ledger"):
                return work()

        return await asyncio.to_thread(locked)

    def _peek(self, path: Path) -> JobState | None:
        """Return a state, or None where it cannot be read."""
        if not path.exists():
            return JobState()
        with suppress(OSError, ValueError), self._files.open(path, "rb") as handle:
            return from_json(JobState, handle.read())
        return None

    def _state(self, job: str) -> JobState:
        path = self._state_file(job)
        if not path.exists():
            return JobState()
        state = self._get(JobState, path)
        if state is None:
            self._files.replace(path, path.with_suffix(".damaged"))
        return state or JobState()

    def _amend(self, job: str, change: Callable[[JobState], JobState]) -> JobState:
        before = self._state(job)
        after = change(before)
        if after != before:
            self._put(self._state_file(job), after)
        return after

    def _open_run(self, record: RunRecord) -> None:
        path = self._record_file(record)
        marker = self._marker(path)
        marker.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._files, marker, b"")
        self._put(path, record)

    def _close_run(self, record: RunRecord) -> None:
        path = self._record_file(record)
        self._put(path, record)
        if self._marker(path).exists():
            self._files.unlink(self._marker(path))

    def _interrupt(self, at: datetime) -> tuple[RunRecord, ...]:
        sweep(self._files, self._folder / "jobs")
        sweep(self._files, self._folder / "open")
        found = (RECORD.fullmatch(name) for name in names(self._folder / "open"))
        closed = (self._interrupt_one(one, at) for one in found if one)
        return tuple(record for record in closed if record)

    def _interrupt_one(self, found: re.Match[str], at: datetime) -> RunRecord | None:
        path = self._day(found["day"]) / found.string
        sweep(self._files, path.parent)
        with self._leases.attempt(_lease(found["job"])) as free:
            if not free:
                return None
            record = self._get(RunRecord, path) if path.exists() else None
            if record is None or record.finished is not None:
                self._files.unlink(self._marker(path))
                return None
            duration_s = max(0.0, (at - record.started).total_seconds())
            record = record.model_copy(update={"finished": at, "duration_s": duration_s})
            if self._state(record.job).last_run != record.id:  # else it had done its work, and the state says so
                record = record.model_copy(update={"outcome": "interrupted", "error": _DIED})
            self._close_run(record)
            return record

    def _records(self, job: str | None) -> Iterator[RunRecord]:
        for day in days(self._folder / "runs"):
            found = [one for one in map(RECORD.fullmatch, names(day)) if one and job in {None, one["job"]}]
            for one in sorted(found, key=lambda one: (one["at"], int(one["nth"] or 1)), reverse=True):
                record = self._get(RunRecord, day / one.string)
                if record:
                    yield record

    def _record_file(self, record: RunRecord) -> Path:
        """Return the file of this run, there or not; runs of one job and one microsecond are numbered."""
        started = record.started.astimezone(UTC)
        stem = f"{_checked(record.job)}-{started:%Y%m%dT%H%M%S.%f}Z"
        for nth in itertools.count(1):
            path = self._day(f"{started:%Y%m%d}") / (f"{stem}.json" if nth == 1 else f"{stem}-{nth}.json")
            if not path.exists():
                return path
            held = self._get(RunRecord, path)
            if held is not None and held.id == record.id:
                return path
        raise AssertionError("counting does not end")

    def _state_file(self, job: str) -> Path:
        return self._folder / "jobs" / f"{_checked(job)}.json"

    def _day(self, digits: str) -> Path:
        return self._folder / "runs" / digits[:4] / digits[4:6] / digits[6:]

    def _marker(self, path: Path) -> Path:
        return self._folder / "open" / path.name

    def _is_open(self, name: str) -> bool:
        return (self._folder / "open" / name).exists()

    def _put(self, path: Path, value: Value) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._files, path, to_json(value, indent=2).encode())

    def _get(self, cls: type[V], path: Path) -> V | None:
        try:
            with self._files.open(path, "rb") as handle:
                return from_json(cls, handle.read())
        except (OSError, ValueError) as error:
            problem = problem_of(error) if isinstance(error, ValueError) else str(error)
            log.warning("ledger.file_skipped", path=str(path), problem=problem)
            return None


def _lease(job: str) -> str:
    return f"job:{_checked(job)}"


def _checked(job: str) -> str:
    if not _JOB.fullmatch(job):
        raise ContractError(f"job id {job!r}: use lower-case letters, digits and single underscores")
    return job
