"""Check what a job would write, write it, and see whether the job is done then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from ..errors import ContractError, VersionConflict
from ..merging import merged
from ..ports import Checked, Documents, Job
from ..types.documents import ABSENT, Document
from ..types.jobs import Change, JobResult, JobSpec, JobView, Write
from .losses import lost_share, with_locked

log = structlog.get_logger(__name__)

Note = Callable[[tuple[Change, ...]], Awaitable[None]]

_TRIES = 50  # a person types slower than that


@dataclass(frozen=True, slots=True)
class Applying:
    """`max_loss` is the share of a document that a rewrite may lose without saying what."""

    documents: Documents
    max_loss: float

    async def apply(self, spec: JobSpec, job: Job, view: JobView, result: JobResult, note: Note) -> tuple[Change, ...]:
        """Write what the job returned; `note` is told after each document what has been changed so far.

        What somebody wrote meanwhile is merged. Where the job says afterwards that it is not done, what was written
        is taken back.

        Raises:
            ContractError: the result breaks a rule, or the job's own check found it wanting.
        """
        self._check(spec, view, result)
        changes: tuple[Change, ...] = ()
        for write in result.writes:
            before = _before(view, write.path)
            change = await self._write(write, before)
            if change is not None:
                changes += (change,)
                await note(changes)
        if problem := await self._problem(job, view, result):
            await self.take_back(changes)
            await note(())
            raise ContractError(f"job `{spec.id}` is not done: {problem}")
        return changes

    async def take_back(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """Give documents the texts that they had before, the last first; later edits by others stay."""
        undone = []
        for change in reversed(changes):
            for _ in range(_TRIES):
                now = await self.documents.read(change.path)
                text = await self._without(change, now)
                try:
                    after = await self.documents.write(change.path, text, now.version)
                except VersionConflict:
                    continue
                undone.append(Change(path=change.path, before=now.version, after=after.version))
                break
        return tuple(undone)

    async def _without(self, change: Change, now: Document) -> str:
        before = await self._text(change.path, change.before)
        if now.version == change.after:
            return before
        return merged(change.text, now.text, before)

    async def _text(self, path: str, version: str) -> str:
        return "" if version == ABSENT else (await self.documents.read_version(path, version)).text

    def _check(self, spec: JobSpec, view: JobView, result: JobResult) -> None:
        if not 0 <= result.turns_read(view) <= len(view.turns):
            raise ContractError(f"job `{spec.id}` says it read {result.read} of {len(view.turns)} turns")
        paths = [write.path for write in result.writes]
        if stray := [path for path in paths if not may_write(spec, path)]:
            raise ContractError(f"job `{spec.id}` may not write {', '.join(stray)}")
        if len(set(paths)) < len(paths):
            raise ContractError(f"job `{spec.id}` writes one document twice")
        for write in result.writes:
            share = lost_share(_before(view, write.path).text, write.text, result.removed)
            if share > self.max_loss:
                raise ContractError(
                    f"job `{spec.id}` would leave out {share:.0%} of `{write.path}` without saying what it removed"
                )

    async def _write(self, write: Write, before: Document) -> Change | None:
        """Write one document by compare-and-swap; what another wrote since the job looked is merged."""
        now = before
        for _ in range(_TRIES):
            text = write.text if now.version == before.version else merged(before.text, now.text, write.text)
            text = with_locked(now.text, text)
            if text == now.text and now.version != ABSENT:
                return None
            try:
                after = await self.documents.write(write.path, text, now.version)
            except VersionConflict:
                now = await self.documents.read(write.path)
                log.info("job.merging", path=write.path)
                continue
            is_merged = now.version != before.version or after.text != text
            return Change(path=write.path, before=now.version, after=after.version, text=after.text, merged=is_merged)
        raise ContractError(f"`{write.path}` was written by somebody else {_TRIES} times in a row")

    async def _problem(self, job: Job, view: JobView, result: JobResult) -> str:
        if not isinstance(job, Checked):
            return ""
        paths = dict.fromkeys(write.path for write in result.writes)
        found = {path: await self.documents.read(path) for path in paths}
        return job.problem(view, result, {**view.documents, **found})


def may_write(spec: JobSpec, path: str) -> bool:
    return any(path == one or (one.endswith("/") and path.startswith(one)) for one in spec.outputs)


def _before(view: JobView, path: str) -> Document:
    return view.documents.get(path) or Document(path=path, text="", version=ABSENT)
