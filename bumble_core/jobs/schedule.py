"""Moments of cron expressions. Loaded only when a job has a schedule: croniter costs 40 ms to import.

croniter reads the clock on the wall and nothing else; what a wall clock's time means in a zone is decided here. A time
that the clocks show twice in autumn counts once, the first time, and one that they leave out in spring counts when
they have been set. An expression whose hour is a `*` follows the time that passes instead: it goes on through the
hour that is there twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from croniter import croniter
from croniter.croniter import CroniterBadDateError

_FIELDS = 5
_SOME_DAY = datetime(2024, 1, 1)  # noqa: DTZ001 what a clock on the wall shows
_AROUND = timedelta(hours=26)  # no clock is set by more: Samoa left out a whole day in 2011


def problem(expression: str, timezone: str) -> str:
    """Say what is wrong with a schedule; empty when nothing is."""
    if len(expression.split()) != _FIELDS or not croniter.is_valid(expression):
        return f"`{expression}` is not a five-field cron expression"
    try:
        ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return f"`{timezone}` is no time zone; write one such as `Europe/Berlin`"
    return "" if next(_walls(expression, _SOME_DAY, "next"), None) else f"`{expression}` never comes"


def previous_moment(expression: str, timezone: str, at: datetime) -> datetime | None:
    """Return the last moment of the schedule before or at `at`, in UTC; None: there was none."""
    zone = ZoneInfo(timezone)
    wall = at.astimezone(zone).replace(tzinfo=None)
    shift = _largest_shift(zone, at)
    if not shift:
        begin = wall + timedelta(microseconds=1)
        return next((_utc(each, zone) for each in _walls(expression, begin, "previous")), None)
    found: list[datetime] = []
    for each in _walls(expression, wall + shift + timedelta(microseconds=1), "previous"):
        found += [moment for moment in _moments(expression, each, zone) if moment <= at]
        if each < wall - shift and found:
            break
    return max(found, default=None)


def next_moment(expression: str, timezone: str, after: datetime) -> datetime | None:
    """Return the first moment of the schedule after `after`, in UTC; None: none comes."""
    zone = ZoneInfo(timezone)
    wall = after.astimezone(zone).replace(tzinfo=None)
    shift = _largest_shift(zone, after)
    if not shift:
        coming = next(_walls(expression, wall, "next"), None)
        if coming is None:
            return None
        moment = _utc(coming, zone)
        if not _largest_shift(zone, moment):
            return moment
    found: list[datetime] = []
    for each in _walls(expression, wall - shift, "next"):
        found += [moment for moment in _moments(expression, each, zone) if moment > after]
        if each > wall + shift and found:
            break
    return min(found, default=None)


def _walls(expression: str, begin: datetime, direction: str) -> Iterator[datetime]:
    """Yield what a clock on the wall shows at the moments of the schedule, from `begin` on or back."""
    moments = croniter(expression, begin)
    try:
        while True:
            yield moments.get_next(datetime) if direction == "next" else moments.get_prev(datetime)
    except CroniterBadDateError:
        return


def _moments(expression: str, wall: datetime, zone: ZoneInfo) -> tuple[datetime, ...]:
    first, second = _utc(wall, zone), _utc(wall.replace(fold=1), zone)
    follows_time = expression.split()[1].startswith("*")
    return (first, second) if follows_time and second > first else (first,)


def _utc(wall: datetime, zone: ZoneInfo) -> datetime:
    return wall.replace(tzinfo=zone).astimezone(UTC)


def _largest_shift(zone: ZoneInfo, at: datetime) -> timedelta:
    """Return by how much the clocks are set around `at`; no time at all where they are not."""
    offsets = {(at + step).astimezone(zone).utcoffset() or timedelta() for step in (-_AROUND, timedelta(), _AROUND)}
    return max(offsets) - min(offsets)
