"""Decide whether a job is due, and why. Pure: same arguments, same answer."""

from __future__ import annotations

from datetime import datetime

from ..deferred import Deferred
from ..errors import ConfigError
from ..types.jobs import AtStartup, Cause, Cron, JobSpec, JobState, TurnsSince
from ..types.settings import JobSettings

_previous_moment = Deferred("bumble_core.jobs.schedule:previous_moment")
_is_valid = Deferred("bumble_core.jobs.schedule:is_valid")


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


def configured_spec(spec: JobSpec, own: JobSettings) -> JobSpec:
    """Return the job's declaration with what the configuration says in its place.

    Raises:
        ConfigError: the configured schedule is not a cron expression.
    """
    triggers = list(spec.triggers)
    if own.schedule is not None:
        if not _is_valid(own.schedule):
            raise ConfigError(f"jobs.{spec.id}.schedule: `{own.schedule}` is not a five-field cron expression")
        triggers = [t for t in triggers if not isinstance(t, Cron)] + [Cron(expression=own.schedule)]
    if own.turns is not None:
        triggers = [t for t in triggers if not isinstance(t, TurnsSince)] + [TurnsSince(count=own.turns)]
    update: dict[str, object] = {"triggers": tuple(triggers), "models": own.models or spec.models}
    if own.timeout is not None:
        update["timeout"] = own.timeout
    return spec.model_copy(update=update)
