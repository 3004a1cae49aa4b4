"""Moments of cron expressions. Loaded only when a job has a schedule: croniter costs 40 ms to import."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import croniter


def is_valid(expression: str) -> bool:
    return bool(croniter.is_valid(expression))


def previous_moment(expression: str, timezone: str, at: datetime) -> datetime:
    """Return the last moment of `expression` before or at `at`, in `timezone`."""
    local = at.astimezone(ZoneInfo(timezone))
    if croniter.match(expression, local):
        return local.replace(second=0, microsecond=0)
    moment = croniter(expression, local).get_prev(datetime)
    return _aware(moment, timezone)


def _aware(moment: datetime, timezone: str) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(timezone))
