"""Background cognition: what a job declares, reads, returns and leaves behind."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from .base import Value
from .documents import Document
from .inference import Attempt, ModelRef, Usage
from .turn import Turn

Outcome = Literal["success", "failure", "skipped", "interrupted"]


class AtStartup(Value):
    """Fires once when a runtime starts."""

    kind: Literal["startup"] = "startup"


class Cron(Value):
    """Fires at each moment of a five-field cron expression, evaluated in `timezone`."""

    kind: Literal["schedule"] = "schedule"
    expression: str
    timezone: str = "UTC"


class TurnsSince(Value):
    """Fires when at least `count` turns lie after the job's cursor."""

    kind: Literal["state"] = "state"
    count: int = Field(gt=0)


Trigger = Annotated[AtStartup | Cron | TurnsSince, Field(discriminator="kind")]


class JobSpec(Value):
    """`inputs` are documents the job reads, `outputs` the only ones it may write. `models` are what it prefers."""

    id: str = Field(pattern=r"^[a-z0-9]+(_[a-z0-9]+)*$")
    summary: str
    triggers: tuple[Trigger, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    models: tuple[ModelRef, ...] = ()
    timeout: timedelta = timedelta(minutes=5)


class Cause(Value):
    """Why a run started. `scheduled_for` is the moment of the schedule that it serves."""

    trigger: Literal["startup", "schedule", "state", "manual"]
    reason: str
    scheduled_for: datetime | None = None


class JobState(Value):
    """Where a job stands between runs. `cursor` is the number of the last turn it was shown."""

    cursor: int = 0
    last_scheduled: datetime | None = None
    failures: int = 0
    retry_after: datetime | None = None


class JobView(Value):
    """All that a job gets to see: it has no file access of its own. `turns` come oldest first."""

    run_id: str
    turns: tuple[Turn, ...]
    documents: dict[str, Document]
    models: tuple[ModelRef, ...]


class Write(Value):
    """The whole new text of one document."""

    path: str
    text: str


class JobResult(Value):
    """`read` counts the turns really shown to the model, from the oldest; the cursor moves over those."""

    summary: str
    read: int
    writes: tuple[Write, ...] = ()
    model: ModelRef | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = Usage()


class Change(Value):
    """One document before and after a run, as versions."""

    path: str
    before: str
    after: str


class RunRecord(Value):
    """One execution of a job; written when it starts and again when it ends. `finished` is None while it runs."""

    id: str
    job: str
    cause: Cause
    started: datetime
    finished: datetime | None = None
    duration_s: float | None = None
    outcome: Outcome | None = None
    summary: str = ""
    changes: tuple[Change, ...] = ()
    models: tuple[ModelRef, ...] = ()
    model: ModelRef | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = Usage()
    error: str | None = None
