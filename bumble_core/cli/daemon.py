"""`bumble daemon`: run background jobs without a conversation."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

import click

from ..hookspecs import hookimpl
from ..ports import Observer
from ..runtime import Runtime
from ..types.events import Event, JobFailing, JobFinished, JobStarted
from .assembled import assembled
from .jobs_shown import moment
from .options import Common, common_options
from .output import tell

_LOOK_EVERY_S = 10.0  # for turns that other processes ran


@click.command()
@common_options("config", "home", "strict")
def daemon(common: Common) -> None:
    """Run background jobs without a conversation.

    It goes on until SIGTERM or Ctrl-C, beside whatever else uses the home. What it does goes to standard output, a
    line each. Runs that go on when it is stopped are given a moment and then recorded as interrupted.
    """
    asyncio.run(_serve(common))


class Teller:
    """Prints runs as they start and end; an observer and the plugin that offers it."""

    @hookimpl
    def bumble_observers(self) -> list[Observer]:
        return [self]

    def notify(self, event: Event) -> None:
        match event:
            case JobStarted(record=record):
                _say(f"{record.job} started: {record.cause.reason}")
            case JobFinished(record=record):
                why = record.error if record.outcome == "failure" else record.summary
                _say(f"{record.job} {record.outcome}" + (f": {why}" if why else ""))
            case JobFailing(record=record, failures=failures):
                _say(f"{record.job} has failed {failures} times in a row; `bumble jobs show {record.id}` says why")
            case _:
                pass


async def _serve(common: Common) -> None:
    stopping = asyncio.Event()
    with _on_signals(stopping):
        async with assembled(common, run_jobs=True, plugins={"daemon": Teller()}) as runtime:
            await _say_what_comes(runtime)
            looking = asyncio.create_task(_look_for_turns(runtime))
            await stopping.wait()
            looking.cancel()
            _say("stopping")
    _say("stopped")


async def _look_for_turns(runtime: Runtime) -> None:
    """Have the jobs looked at when another process has ended a turn."""
    known = await runtime.sessions.count()
    while True:
        await runtime.parts.clock.sleep(_LOOK_EVERY_S)
        if (count := await runtime.sessions.count()) != known:
            known = count
            runtime.jobs.notice()


async def _say_what_comes(runtime: Runtime) -> None:
    found = await runtime.jobs.outlook()
    _say(f"watching {len(found)} jobs in {runtime.home}")
    for each in found:
        coming = "due now" if each.cause else f"next at {moment(each.next)}" if each.next else "waits for turns"
        _say(f"{each.spec.id}: {coming}; {'; '.join(map(str, each.spec.triggers))}")


@contextlib.contextmanager
def _on_signals(stopping: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _say(text: str) -> None:
    """Print a line at once: whoever reads a log waits for it."""
    tell(text)
