"""Background cognition: what a job declares, reads, returns and leaves behind."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Literal

from pydantic import Field, InstanceOf

from .base import Value
from .documents import Document
from .inference import Attempt, ModelRef, Usage
from .triggers import (
    AtStartup,
    Condition,
    Cron,
    DocumentLargerThan,
    IdleFor,
    Situation,
    Trigger,
    TurnsSince,
    When,
)
from .turn import Turn

__all__ = [
    "AtStartup",
    "Cause",
    "Change",
    "Condition",
    "Cron",
    "DocumentLargerThan",
    "IdleFor",
    "JobResult",
    "JobSpec",
    "JobState",
    "JobView",
    "Outcome",
    "RunRecord",
    "Situation",
    "Trigger",
    "TurnsSince",
    "When",
    "Write",
]

Outcome = Literal["success", "failure", "skipped", "interrupted"]


class JobSpec(Value):
    """`inputs` are documents that the job reads, `outputs` those that it reads and alone may write.

    Without triggers the job runs only when it is asked for. A path that ends in `/` stands for all documents below it.
    `models` are what the job prefers where nobody chose and their provider is there; `timeout` is the longest time of
    one run, `daily_tokens` what all runs of a day may take together before the job waits for the next day (UTC).
    """

    id: str = Field(pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$")
    summary: str = ""
    triggers: tuple[InstanceOf[AtStartup] | InstanceOf[Cron] | InstanceOf[When], ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    models: tuple[ModelRef, ...] = ()
    timeout: timedelta = timedelta(minutes=5)
    daily_tokens: int | None = None


class Cause(Value):
    """Why a run started. `scheduled_for` is the moment of the schedule that it serves."""

    trigger: Literal["startup", "schedule", "state", "manual"]
    reason: str
    scheduled_for: datetime | None = None


class JobState(Value):
    """Where a job stands between runs.

    `cursor` is the number of the last turn it was shown; `note` is what its last run left to itself. Slots of its
    schedules up to `last_scheduled` are served, but `owes_slot`: a later one was skipped while the run for it was under
    way, which has not succeeded yet. `seen` tells which situation its last run has answered.
    `failures` are those in a row. `tokens` are those of `day`. `last_run` is the run that last succeeded.
    """

    cursor: int = 0
    last_run: str = ""
    note: str = ""
    last_scheduled: datetime | None = None
    seen: str = ""
    owes_startup: bool = False
    owes_slot: datetime | None = None
    failures: int = 0
    retry_after: datetime | None = None
    day: date | None = None
    tokens: int = 0


class JobView(Value):
    """All that a job gets to see: it has no file access of its own.

    `turns` are the oldest after the job's cursor, at most as many as fit `room_tokens` beside the documents, but one
    at least where there is any; `unread` counts all of them. `models` are to be asked in their order. `at` is the
    time of the run, `note` what the last successful run left.
    """

    run_id: str
    at: datetime
    turns: tuple[Turn, ...] = ()
    unread: int = 0
    documents: dict[str, Document] = {}
    models: tuple[ModelRef, ...] = ()
    room_tokens: int = 16_384
    note: str = ""


class Write(Value):
    """The whole new text of one document."""

    path: str
    text: str


class JobResult(Value):
    """What a run comes to; nothing of it is in force until the kernel has checked and applied it.

    `read` counts the turns really shown to the model, from the oldest; the cursor moves over those. None: all that the
    view holds. Where `summary` is empty the record says what was read and written. `removed` quotes what the writes
    leave out on purpose: a rewrite that loses much of a document without saying so is refused. `note` is kept for the
    next run; None keeps the former one.
    """

    summary: str = ""
    read: int | None = None
    writes: tuple[Write, ...] = ()
    removed: tuple[str, ...] = ()
    note: str | None = None
    model: ModelRef | None = None
    attempts: tuple[Attempt, ...] = ()

    def turns_read(self, view: JobView) -> int:
        return len(view.turns) if self.read is None else self.read


class Change(Value):
    """One document before and after a run, as versions.

    `merged` tells that somebody had edited it meanwhile. `text` is what it held after the run: an editor may replace
    it without keeping it, and the run can be undone all the same.
    """

    path: str
    before: str
    after: str
    text: str = ""
    merged: bool = False


class RunRecord(Value):
    """One execution of a job; written when it starts and again when it ends. `finished` is None while it runs.

    `models` are those to be asked, in their order, `model` the one that answered; `attempts` are the failures.
    `cursor` is where the job stood before and after. `cost` is what models with a price took. `undone` is when the
    changes were taken back.
    """

    id: str
    job: str
    cause: Cause
    started: datetime
    finished: datetime | None = None
    duration_s: float | None = None
    outcome: Outcome | None = None
    summary: str = ""
    changes: tuple[Change, ...] = ()
    removed: tuple[str, ...] = ()
    cursor: tuple[int, int] | None = None
    models: tuple[ModelRef, ...] = ()
    model: ModelRef | None = None
    attempts: tuple[Attempt, ...] = ()
    calls: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    error: str | None = None
    undone: datetime | None = None
