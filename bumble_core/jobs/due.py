"""Decide whether a job is due, and why. Pure: same arguments, same answer."""

from __future__ import annotations

from datetime import datetime

from ..deferred import Deferred
from ..types.jobs import AtStartup, Cause, Cron, JobSpec, JobState, TurnsSince

_previous_moment = Deferred("bumble_core.jobs.schedule:previous_moment")


def due(
    spec: JobSpec, state: JobState, unread: int, at: datetime, *, is_starting: bool, since: datetime
) -> Cause | None:
    """Return why `spec` should run at `at`, or None.

    `unread` counts the turns after the job's cursor. Missed moments of a schedule collapse into the latest one;
    `since` is the start of the process, which counts until a moment was served.
    """
    if state.retry_after is not None and at < state.retry_after:
        return None
    for trigger in spec.triggers:
        match trigger:
            case AtStartup() if is_starting:
                return Cause(trigger="startup", reason="the runtime started")
            case TurnsSince(count=count) if unread >= count:
                return Cause(trigger="state", reason=f"{unread} turns unread, threshold {count}")
            case Cron(expression=expression, timezone=timezone):
                moment: datetime = _previous_moment(expression, timezone, at)
                if moment > (state.last_scheduled or since):
                    return Cause(trigger="schedule", reason=f"cron {expression}", scheduled_for=moment)
            case _:
                pass
    return None
