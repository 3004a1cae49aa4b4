"""`bumble jobs simulate`: which jobs would run when, and why, without running any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import click

from ..errors import RunError
from ..jobs.foreseeing import Foreseen, foresee
from ..runtime import Runtime
from .assembled import with_runtime
from .options import Common, common_options
from .output import print_json, print_rows

_SPAN = re.compile(r"(?P<sign>\+?)(?P<number>\d{1,6})(?P<unit>[mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_DAY = timedelta(days=1)
_MOST_DAYS = 3660
_COLUMNS = ("at", "job", "trigger", "unread", "why")


def moment_of(text: str) -> datetime:
    """Read a date, a time, or a span: `2d` is two days ago, `+2d` in two days.

    Raises:
        UsageError: it is none of them.
    """
    if (span := _SPAN.fullmatch(text.strip())) is not None:
        length = timedelta(**{_UNITS[span["unit"]]: int(span["number"])})
        return datetime.now(UTC) + (length if span["sign"] else -length)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.UsageError(
            f"{text!r} is no date, time or span; write 2026-05-04, 2026-05-04T12:00 or 2d"
        ) from error
    return found if found.tzinfo is not None else found.astimezone()


@click.command("simulate")
@click.option("--from", "begin", metavar="WHEN", default="+0m", help="Begin then: a date, a time or a span. [now]")
@click.option("--to", "end", metavar="WHEN", default="+1d", show_default=True, help="End then.")
@click.option(
    "--history", metavar="SESSION", help="Take the turns of this session, moved so that the first is at --from."
)
@click.option("--turns", type=click.IntRange(min=0), default=20, show_default=True, help="Else, turns of each day.")
@common_options("config", "home", "json")
def simulate(common: Common, begin: str, end: str, history: str | None, turns: int) -> None:
    """Show which jobs would run when, and why; no model is asked and nothing is written.

    Runs are taken to succeed at once. Synthetic turns are spread evenly from 9:00 to 18:00, local time.
    """
    first, last = moment_of(begin), moment_of(end)
    if not first < last <= first + _MOST_DAYS * _DAY:
        raise click.UsageError(f"--to comes after --from, and within {_MOST_DAYS} days")

    async def work(runtime: Runtime) -> list[Foreseen]:
        moments = _spread(first, last, turns) if history is None else await _recorded(runtime, history, first)
        specs = (each.spec for each in await runtime.jobs.outlook())
        return [run for spec in specs for run in foresee(spec, moments, first.astimezone(UTC), last.astimezone(UTC))]

    found = sorted(with_runtime(common, work), key=lambda run: (run.at, run.job))
    rows = [
        (f"{run.at.astimezone():%Y-%m-%d %H:%M}", run.job, run.cause.trigger, run.unread, run.cause.reason)
        for run in found
    ]
    if common.as_json:
        print_json(
            [
                {"at": run.at.isoformat(), **dict(zip(_COLUMNS[1:], row[1:], strict=True))}
                for run, row in zip(found, rows, strict=True)
            ]
        )
    else:
        print_rows(_COLUMNS, rows, empty="No job would run.")


async def _recorded(runtime: Runtime, session: str, first: datetime) -> Sequence[datetime]:
    turns = await runtime.sessions.turns(session_id=session)
    if not turns:
        raise RunError(f"no session `{session}`; `bumble sessions list` lists them")
    moved = first.astimezone(UTC) - turns[0].started
    return sorted(turn.finished + moved for turn in turns)


def _spread(first: datetime, last: datetime, each_day: int) -> Sequence[datetime]:
    """Return `each_day` moments from 9:00 to 18:00 of each local day."""
    opens = first.astimezone().replace(hour=9, minute=0, second=0, microsecond=0)
    days = range((last - first).days + 2)
    found = [opens + day * _DAY + timedelta(hours=9) * turn / each_day for day in days for turn in range(each_day)]
    return [at.astimezone(UTC) for at in found if first <= at <= last]
