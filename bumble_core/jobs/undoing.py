"""Take back what a run changed."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import RunError
from ..ports import Clock, JobLedger
from ..types.jobs import Change, RunRecord
from .applying import Applying


@dataclass(frozen=True, slots=True)
class Undoing:
    applying: Applying
    ledger: JobLedger
    clock: Clock

    async def undo(self, record: RunRecord) -> tuple[Change, ...]:
        """Give the documents the texts that they had before; what was edited since is kept.

        The turns that the run read stay read: a job that read them again would do the same again.

        Raises:
            RunError: the run changed nothing, goes on, or has been undone.
        """
        if record.undone is not None:
            raise RunError(f"run `{record.id}` was undone already, at {record.undone:%Y-%m-%d %H:%M} UTC")
        if record.finished is None:
            raise RunError(f"run `{record.id}` is under way; wait until it has ended")
        if not record.changes:
            raise RunError(f"run `{record.id}` changed nothing")
        async with self.ledger.lease(record.job) as is_held:
            if not is_held:
                raise RunError(f"job `{record.job}` is running; wait until it has ended")
            undone = await self.applying.take_back(record.changes)
            await self.ledger.close_run(record.model_copy(update={"undone": self.clock.now()}))
        return undone
