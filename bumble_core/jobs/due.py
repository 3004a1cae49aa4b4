"""Decide whether a job is due, and why. Pure: same arguments, same answer."""

from __future__ import annotations

from datetime import datetime

from ..deferred import Deferred
from ..errors import ConfigError
from ..types.jobs import AtStartup, Cause, Cron, JobSpec, JobState, Situation, Trigger, TurnsSince, When
from ..types.settings import JobSettings

_previous_moment = Deferred("bumble_core.jobs.schedule:previous_moment")
_is_valid = Deferred("bumble_core.jobs.schedule:is_valid")


def due(spec: JobSpec, state: JobState, now: Situation, *, is_starting: bool, since: datetime) -> Cause | None:
    """Return why `spec` should run now, or None.

    Missed moments of a schedule collapse into the latest one;
    `since` is the start of the process, which counts until a moment was served.
    """
    if state.retry_after is not None and now.at < state.retry_after:
        return None
    for trigger in spec.triggers:
        match trigger:
            case AtStartup() if is_starting:
                return Cause(trigger="startup", reason="the runtime started")
            case When(condition=condition) if reason := condition.reason(now):
                return Cause(trigger="state", reason=reason)
            case Cron(expression=expression, timezone=timezone):
                moment: datetime = _previous_moment(expression, timezone, now.at)
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
    triggers: list[Trigger] = list(spec.triggers)
    if own.schedule is not None:
        if not _is_valid(own.schedule):
            raise ConfigError(f"jobs.{spec.id}.schedule: `{own.schedule}` is not a five-field cron expression")
        triggers = [t for t in triggers if not isinstance(t, Cron)] + [Cron(own.schedule)]
    if own.turns is not None:
        triggers = [t for t in triggers if not _counts_turns(t)] + [When(TurnsSince(own.turns))]
    update: dict[str, object] = {"triggers": tuple(triggers), "models": own.models or spec.models}
    if own.timeout is not None:
        update["timeout"] = own.timeout
    return spec.model_copy(update=update)


def _counts_turns(trigger: Trigger) -> bool:
    return isinstance(trigger, When) and isinstance(trigger.condition, TurnsSince)
