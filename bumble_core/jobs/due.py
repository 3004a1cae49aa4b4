"""Decide whether a job is due, why, and when it may be due next. Pure: same arguments, same answer."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from ..deferred import Deferred
from ..types.jobs import AtStartup, Cause, Cron, JobSpec, JobState, Situation, When

LONGEST_RETRY = timedelta(hours=6)  # a dead endpoint costs at most a few calls a day
JITTER = 0.2  # share by which a wait is lengthened at random, so that many homes do not come back together
_FAR = timedelta(days=1)  # more than a schedule's slot lies ahead by any setting of the clocks

_previous_moment = Deferred("bumble_core.jobs.schedule:previous_moment")
_next_moment = Deferred("bumble_core.jobs.schedule:next_moment")


def due(spec: JobSpec, state: JobState, now: Situation, *, is_starting: bool = False) -> Cause | None:
    """Return why `spec` should run now, or None.

    Missed moments of all its schedules collapse into the latest one. A condition that holds is passed over where the
    last run has left everything as it is: only a new turn or a changed document makes it due again.
    """
    if rest_of(spec, state, now.at) is not None:
        return None
    if (is_starting or state.owes_startup) and any(isinstance(trigger, AtStartup) for trigger in spec.triggers):
        return Cause(trigger="startup", reason="the runtime started")
    moment, cron = _latest_slot(spec, now.at)
    if cron is not None and moment is not None and moment > (state.last_scheduled or now.at):
        return Cause(trigger="schedule", reason=str(cron), scheduled_for=moment)
    if cron is not None and state.owes_slot is not None:
        return Cause(trigger="schedule", reason=f"{cron}, not done yet", scheduled_for=state.owes_slot)
    for trigger in spec.triggers:
        if isinstance(trigger, When) and (reason := trigger.condition.reason(now)) and state.seen != print_of(now):
            return Cause(trigger="state", reason=reason)
    return None


def next_due(spec: JobSpec, state: JobState, now: Situation) -> datetime | None:
    """Return when the job is to be looked at again although nothing happens but time; None: never."""
    if (rest := rest_of(spec, state, now.at)) is not None:
        return rest
    crons = [trigger for trigger in spec.triggers if isinstance(trigger, Cron)]
    conditions = [trigger.condition for trigger in spec.triggers if isinstance(trigger, When)]
    moments = [_next_moment(each.expression, each.timezone, now.at) for each in crons]
    moments += [condition.moment(now) for condition in conditions if state.seen != print_of(now)]
    return min((moment for moment in moments if moment is not None), default=None)


def rest_of(spec: JobSpec, state: JobState, at: datetime) -> datetime | None:
    """Return until when the job is left alone: after a failure, or when its tokens of the day are spent."""
    if state.retry_after is not None and at < state.retry_after:
        return state.retry_after
    if spec.daily_tokens is not None and state.day == at.astimezone(UTC).date() and state.tokens >= spec.daily_tokens:
        return datetime.combine(state.day + timedelta(days=1), datetime.min.time(), UTC)
    return None


def settled(state: JobState, at: datetime) -> JobState:
    """Return the state with what no clock can have meant put right.

    A job that is seen for the first time owes no slot from before. What lies so far ahead that only a wrong clock can
    have written it is forgotten; a slot that was served before the clock was set back is not served again.
    """
    update: dict[str, object] = {}
    if state.last_scheduled is None or state.last_scheduled > at + _FAR:
        update["last_scheduled"] = at
    if state.owes_slot is not None and state.owes_slot > at + _FAR:
        update["owes_slot"] = None
    if state.retry_after is not None and state.retry_after > at + LONGEST_RETRY * (1 + JITTER):
        update["retry_after"] = None
    return state.model_copy(update=update) if update else state


def served(spec: JobSpec, state: JobState, at: datetime) -> datetime | None:
    """Return the latest slot that a run at `at` serves, whatever caused it."""
    slots = [moment for moment in (_latest_slot(spec, at)[0], state.last_scheduled) if moment is not None]
    return max(slots, default=None)


def print_of(now: Situation, read: int = 0) -> str:
    """Return what tells one situation from another for a condition, after `read` of the unread turns were read."""
    versions = "".join(f"{path}\0{each.version}\0" for path, each in sorted(now.documents.items()))
    digest = hashlib.sha256(versions.encode()).hexdigest()[:16] if versions else ""
    return f"{now.unread - read} unread {digest}".strip()


def _latest_slot(spec: JobSpec, at: datetime) -> tuple[datetime | None, Cron | None]:
    best: tuple[datetime | None, Cron | None] = (None, None)
    for trigger in spec.triggers:
        if isinstance(trigger, Cron):
            moment: datetime | None = _previous_moment(trigger.expression, trigger.timezone, at)
            if moment is not None and (best[0] is None or moment > best[0]):
                best = (moment, trigger)
    return best
