"""Where a job stands after a run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ..types.documents import Document
from ..types.inference import Usage
from ..types.jobs import Cause, Change, JobResult, JobSpec, JobState, JobView, Situation
from .due import JITTER, LONGEST_RETRY, print_of, served

_FIRST_RETRY = timedelta(minutes=1)
_SECOND_RETRY = timedelta(minutes=30)
_REQUEUED = timedelta(seconds=30)  # a turn seldom comes alone


def succeeded(
    spec: JobSpec, state: JobState, view: JobView, result: JobResult, watched: Mapping[str, Document]
) -> JobState:
    """Move the cursor over what was read and serve every slot up to the start of the run.

    `watched` are the documents that the conditions name, as the run left them. What is left to read is due at once
    where something was read; else the job has answered the situation, and waits until it changes.
    """
    read = result.turns_read(view)
    left = view.unread - read
    answered = print_of(Situation(at=view.at, unread=left, documents=watched))
    update: dict[str, object] = {
        "cursor": cursor_after(view, result, state.cursor),
        "last_run": view.run_id,
        "note": state.note if result.note is None else result.note,
        "last_scheduled": served(spec, state, view.at),
        "seen": "" if read and left else answered,
        "owes_startup": False,
        "owes_slot": None,
        "failures": 0,
        "retry_after": None,
    }
    return state.model_copy(update=update)


def cursor_after(view: JobView, result: JobResult, before: int) -> int:
    """Return the number of the last turn that was read."""
    read = result.turns_read(view)
    return view.turns[read - 1].number if read else before


def told(view: JobView, result: JobResult, changes: Sequence[Change]) -> str:
    """Return what a run did, for a job that does not say."""
    read = result.turns_read(view)
    wrote = f", wrote {', '.join(change.path for change in changes)}" if changes else ""
    return f"read {read} turn{'' if read == 1 else 's'}{wrote}"


def failed(state: JobState, cause: Cause, at: datetime, chance: float) -> JobState:
    """Wait a minute, half an hour, then twice as long each time up to six hours, and a little more by `chance`.

    No slot is served and no cursor moves; a start is still owed.
    """
    waits = {0: _FIRST_RETRY, 1: _SECOND_RETRY}
    doublings = min(max(0, state.failures - 1), 10)
    wait = waits.get(state.failures, min(_SECOND_RETRY * 2**doublings, LONGEST_RETRY))
    update = {"failures": state.failures + 1, "retry_after": at + wait * (1 + JITTER * chance)}
    return _owing(state, cause).model_copy(update=update)


def requeued(state: JobState, cause: Cause, at: datetime) -> JobState:
    """Try again soon; to give way is no failure."""
    return _owing(state, cause).model_copy(update={"retry_after": at + _REQUEUED})


def skipped(state: JobState, slot: datetime, under_way: datetime | None) -> JobState:
    """Serve a slot that found the job running; that of the run which is `under_way` is owed until it succeeds."""
    served = max(state.last_scheduled or slot, slot)
    return state.model_copy(update={"last_scheduled": served, "owes_slot": state.owes_slot or under_way})


def charged(state: JobState, usage: Usage, at: datetime) -> JobState:
    """Add what a run took to the tokens of its day."""
    today = at.astimezone(UTC).date()
    spent = state.tokens if state.day == today else 0
    return state.model_copy(update={"day": today, "tokens": spent + usage.input_tokens + usage.output_tokens})


def _owing(state: JobState, cause: Cause) -> JobState:
    return state.model_copy(update={"owes_startup": True}) if cause.trigger == "startup" else state
