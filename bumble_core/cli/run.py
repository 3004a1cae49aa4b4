"""`bumble run`: answer one message."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

import click

from ..builtin.surfaces import NoSurface, TerminalSurface
from ..runtime import Runtime
from ..types.inference import ModelRef
from ..types.turn import GatePolicy, Turn
from .activity import Activity, say
from .assembled import assembled
from .options import Common, common_options
from .output import print_json
from .reserved import reserved_output
from .transcript import fenced
from .turns import conversation_options, ended, models_for, session_for, status_of, surface_for_output


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one call of `bumble run` asks for."""

    text: str
    session: str | None
    continues: bool
    models: tuple[ModelRef, ...]
    quiet: bool
    gate: GatePolicy | None
    with_jobs: bool


@click.command()
@click.argument("text", required=False)
@conversation_options
@click.option("--quiet", "-q", is_flag=True, help="Show neither the model that was found nor the tools at work.")
@click.option("--jobs", "with_jobs", is_flag=True, help="Run the background jobs that are due before it exits.")
@common_options("config", "home", "strict", "json")
def run(
    common: Common,
    text: str | None,
    session: str | None,
    continues: bool,
    models: tuple[ModelRef, ...],
    gate: GatePolicy | None,
    quiet: bool,
    with_jobs: bool,
) -> int:
    """Answer one message.

    The answer goes to standard output, everything else to standard error. What is piped in is put below TEXT, or is
    the message where TEXT is missing or `-`.

    The exit status is 0 when the turn is done, 1 when it failed or was stopped at a limit, 130 after Ctrl-C.
    """
    asked = Asked(
        text=_message(text),
        session=session,
        continues=continues,
        models=models,
        quiet=quiet,
        gate=gate,
        with_jobs=with_jobs,
    )
    with reserved_output() as output:
        turn = asyncio.run(_answer(common, asked, output))
    if common.as_json:
        print_json(turn.model_dump(mode="json"))
    return status_of(turn)


async def _answer(common: Common, asked: Asked, output: TextIO) -> Turn:
    surface = NoSurface() if common.as_json else surface_for_output(output)
    terminal = surface if isinstance(surface, TerminalSurface) else None
    activity = Activity(terminal)
    plugins = {} if asked.quiet else {"activity": activity}
    async with assembled(common, run_jobs=False, plugins=plugins) as runtime:
        activity.know(runtime.tools)
        models = await models_for(runtime, asked.models, quiet=asked.quiet)
        session = await session_for(runtime, asked.session, continues=asked.continues)
        handle = runtime.start(asked.text, session=session, surface=surface, models=models, gate=asked.gate)

        def cancel() -> None:
            if terminal is not None:
                terminal.break_line()  # what the person has read so far stays on the screen
            handle.cancel()

        with _on_interrupt(cancel):
            turn = await ended(handle)
        await _see_to_jobs(runtime, asked)
        return turn


async def _see_to_jobs(runtime: Runtime, asked: Asked) -> None:
    """Run the jobs that are due where that was asked for, else say that there are some."""
    due = await runtime.jobs.due_now(is_starting=asked.with_jobs)
    names = ", ".join(job for job, _ in due)
    if asked.with_jobs:
        if due and not asked.quiet:
            say(f"running what is due: {names}; Ctrl-C interrupts it")
        await runtime.jobs.begin()
        await runtime.jobs.settle()
    elif due and not asked.quiet:
        say(f"due in the background: {names}; `--jobs`, `bumble chat` and `bumble daemon` run it")


@contextlib.contextmanager
def _on_interrupt(cancel: Callable[[], None]) -> Iterator[None]:
    """Call `cancel` at Ctrl-C; a second one is not waited out."""
    loop = asyncio.get_running_loop()

    def first() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        cancel()

    loop.add_signal_handler(signal.SIGINT, first)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _message(text: str | None) -> str:
    """Put together the argument and what is piped in.

    Raises:
        UsageError: there is nothing to answer.
    """
    given = "" if text is None or text == "-" else text.strip()
    piped = _piped() if text == "-" or _is_piped() else ""
    if not given and not piped.strip():
        raise click.UsageError("there is nothing to answer: give a TEXT, or pipe one in")
    return f"{given}\n\n{fenced(piped)}" if given and piped.strip() else given or piped


def _is_piped() -> bool:
    """Tell whether somebody pipes: a terminal and a device such as /dev/null do not."""
    if sys.stdin is None:
        return False
    try:
        return not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)
    except OSError:  # a program that calls us in its own process may give a stream without a file
        return True


def _piped() -> str:
    data = sys.stdin.buffer.read() if sys.stdin is not None else b""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        say("standard input is not UTF-8; what cannot be read is \ufffd")
    return text.strip("\r\n")
