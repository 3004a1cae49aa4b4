"""`bumble jobs`: see what background cognition does, run a job, take a run back."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from ..errors import RunError
from ..jobs.undoing import Undoing
from ..runtime import Runtime
from ..types.jobs import Cause, RunRecord
from . import exit_codes
from .activity import say
from .assembled import with_runtime
from .jobs_ahead import moment_of, simulate
from .jobs_shown import OUTLOOK, RUN, outlook_row, record_lines, run_row
from .options import Common, Invocation, common_options, shared_options
from .output import print_json, print_rows, tell

T = TypeVar("T")

_OUTCOMES = ("success", "failure", "skipped", "interrupted")
_LOOK_EVERY_S = 1.0
_LATEST = 20  # runs that are looked through for one that was not skipped
_WATCHED = 50  # runs at most between two looks


@click.group(invoke_without_command=True)
@shared_options("config", "home", "json")
@click.pass_context
def jobs(context: click.Context) -> None:
    """Show what background jobs do, run one, or take a run back.

    Without a command it shows where each job stands, when it is due next, and why. `bumble models switch --job JOB
    MODEL` has another model do a job.
    """
    if context.invoked_subcommand is None:
        _show_all(context.ensure_object(Invocation).common)


@jobs.command("list")
@common_options("config", "home", "json")
def list_(common: Common) -> None:
    """Show where each job stands, when it is due next, and why."""
    _show_all(common)


@jobs.command("run")
@click.argument("job")
@common_options("config", "home", "json")
def run(common: Common, job: str) -> int:
    """Run a job now, due or not, and wait for it.

    The exit status is 0 when the run succeeded, 1 when it did not.
    """

    async def work(runtime: Runtime) -> RunRecord:
        _known(job, runtime)
        summary = runtime.parts.execute.specs[job].summary
        say(f"running {job}{f' ({summary})' if summary else ''}; Ctrl-C interrupts it")
        return await runtime.parts.execute(job, Cause(trigger="manual", reason="asked for on the command line"))

    record = _with_jobs(common, work)
    _print(record, common)
    return exit_codes.FINE if record.outcome == "success" else exit_codes.FAILED


@jobs.command("runs")
@click.option("--job", help="Only runs of this job.")
@click.option("--outcome", type=click.Choice(_OUTCOMES), help="Only runs that ended so.")
@click.option("--since", metavar="WHEN", help="Only runs since then: a date, a time, or a span such as 90m, 6h, 2d.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most so many.")
@common_options("config", "home", "json")
def runs(common: Common, job: str | None, outcome: str | None, since: str | None, limit: int) -> None:
    """List runs, the latest first."""
    begin = None if since is None else moment_of(since)

    async def work(runtime: Runtime) -> tuple[RunRecord, ...]:
        if job is not None:
            _known(job, runtime)
        return await runtime.ledger.runs(job, None if outcome or begin else limit)

    found = [each for each in _with_jobs(common, work) if outcome in {None, each.outcome}]
    found = [each for each in found if begin is None or each.started >= begin][:limit]
    if common.as_json:
        print_json([record.model_dump(mode="json") for record in found])
    else:
        print_rows(RUN, [run_row(record) for record in found], empty="There are no such runs.")


@jobs.command("show")
@click.argument("run")
@common_options("config", "home", "json")
def show(common: Common, run: str) -> None:
    """Print the record of a run; the beginning of its id is enough."""
    _print(_with_jobs(common, lambda runtime: _record(runtime, run)), common)


@jobs.command("undo")
@click.argument("run")
@common_options("config", "home", "json")
def undo(common: Common, run: str) -> None:
    """Take back what a run changed; what was edited since is kept, and the turns stay read."""

    async def work(runtime: Runtime) -> RunRecord:
        record = await _record(runtime, run)
        parts = runtime.parts
        undone = await Undoing(parts.execute.applying, parts.ledger, parts.clock).undo(record)
        return record.model_copy(update={"changes": undone})

    record = _with_jobs(common, work)
    if common.as_json:
        print_json([change.model_dump(mode="json") for change in record.changes])
    else:
        tell(f"Took back what run {record.id} changed: {', '.join(change.path for change in record.changes)}.")


@jobs.command("watch")
@common_options("config", "home", "json")
def watch(common: Common) -> None:
    """Print each run as it starts and ends, whoever runs it, until Ctrl-C."""
    _with_jobs(common, lambda runtime: _follow(runtime, common))


jobs.add_command(simulate)


async def _follow(runtime: Runtime, common: Common) -> None:
    say(f"watching {runtime.home}; Ctrl-C ends")
    known = {record.id: record for record in await runtime.ledger.runs(limit=_WATCHED)}
    while True:
        await runtime.parts.clock.sleep(_LOOK_EVERY_S)
        for record in reversed(await runtime.ledger.runs(limit=_WATCHED)):
            if known.get(record.id) != record:
                known[record.id] = record
                if common.as_json:
                    print_json(record.model_dump(mode="json"))
                else:
                    tell("  ".join(str(cell) for cell in run_row(record) if cell is not None))


def _show_all(common: Common) -> None:
    async def work(runtime: Runtime) -> list[tuple[str | None, ...]]:
        now = runtime.parts.clock.now()
        rows = []
        for each in await runtime.jobs.outlook():
            latest = await runtime.ledger.runs(each.spec.id, limit=_LATEST)
            newest = next((record for record in latest if record.outcome != "skipped"), None)
            rows.append(outlook_row(each, newest, now))
        seen = {row[0] for row in rows}
        return rows + [(job, "off", None, None, "disabled") for job in runtime.parts.execute.specs if job not in seen]

    print_rows(OUTLOOK, _with_jobs(common, work), as_json=common.as_json, empty="No plugin offers a job.")


def _with_jobs(common: Common, work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Do `work` with a runtime whose ledger calls no run of a dead process `running`."""

    async def mended(runtime: Runtime) -> T:
        await runtime.ledger.interrupt(runtime.parts.clock.now())
        return await work(runtime)

    return with_runtime(common, mended)


def _known(job: str, runtime: Runtime) -> None:
    known = list(runtime.parts.execute.specs)
    if job in known:
        return
    near = difflib.get_close_matches(job, known, n=1)
    advice = f"did you mean `{near[0]}`?" if near else f"installed: {', '.join(known) or 'none'}"
    raise RunError(f"no job `{job}`; {advice}")


async def _record(runtime: Runtime, id: str) -> RunRecord:
    found = [record for record in await runtime.ledger.runs() if record.id.startswith((id, f"run_{id}"))]
    exact = [record for record in found if record.id == id]
    if len(found) == 1 or exact:
        return (exact or found)[0]
    more = f"{len(found)} runs begin so; write more of it" if found else "`bumble jobs runs` lists them"
    raise RunError(f"no run `{id}`; {more}")


def _print(record: RunRecord, common: Common) -> None:
    if common.as_json:
        print_json(record.model_dump(mode="json"))
    else:
        tell("\n".join(record_lines(record)))
