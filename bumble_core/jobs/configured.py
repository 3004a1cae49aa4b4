"""What the configuration says in place of a job's own declaration."""

from __future__ import annotations

from ..deferred import Deferred
from ..errors import ConfigError
from ..types.jobs import Condition, Cron, JobSpec, Trigger, TurnsSince, When
from ..types.settings import JobSettings
from ..types.triggers import Both, Either

_problem = Deferred("bumble_core.jobs.schedule:problem")


def configured_spec(spec: JobSpec, own: JobSettings) -> JobSpec:
    """Return the job's declaration with what the configuration says in its place.

    Raises:
        ConfigError: the configured schedule is no cron expression, or its time zone is none.
    """
    triggers: list[Trigger] = list(spec.triggers)
    if own.schedule is not None:
        triggers = [t for t in triggers if not isinstance(t, Cron)] + [Cron(own.schedule)]
    if own.timezone is not None:
        triggers = [Cron(t.expression, own.timezone) if isinstance(t, Cron) else t for t in triggers]
    if own.schedule is not None or own.timezone is not None:
        _check(spec.id, triggers)
    if own.turns is not None:
        triggers = _with_turns(triggers, own.turns)
    update: dict[str, object] = {"triggers": tuple(triggers)}
    if own.timeout is not None:
        update["timeout"] = own.timeout
    if own.daily_tokens is not None:
        update["daily_tokens"] = own.daily_tokens
    return spec.model_copy(update=update)


def _check(job: str, triggers: list[Trigger]) -> None:
    for trigger in triggers:
        if isinstance(trigger, Cron) and (problem := _problem(trigger.expression, trigger.timezone)):
            key = "timezone" if "time zone" in problem else "schedule"
            raise ConfigError(f"jobs.{job}.{key}: {problem}")


def _with_turns(triggers: list[Trigger], turns: int) -> list[Trigger]:
    """Put the number of turns into every condition that counts them, or add one where none does."""
    changed = [When(_counting(t.condition, turns)) if isinstance(t, When) else t for t in triggers]
    has_one = any(isinstance(t, When) and _counts(t.condition) for t in triggers)
    return changed if has_one else [*changed, When(TurnsSince(turns))]


def _counting(condition: Condition, turns: int) -> Condition:
    if isinstance(condition, TurnsSince):
        return TurnsSince(turns)
    if isinstance(condition, Both | Either):
        return type(condition)(_counting(condition.first, turns), _counting(condition.second, turns))
    return condition


def _counts(condition: Condition) -> bool:
    if isinstance(condition, Both | Either):
        return _counts(condition.first) or _counts(condition.second)
    return isinstance(condition, TurnsSince)
