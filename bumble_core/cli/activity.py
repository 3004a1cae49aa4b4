"""Tell what happens in a turn on standard error, a line each."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Mapping

import click

from ..builtin.surfaces import TerminalSurface
from ..hookspecs import hookimpl
from ..ports import Observer, Tool
from ..printable import one_line
from ..types.events import Compacted, Event, Inferred, JobFailing, Judged, ToolFinished, ToolStarted, TurnStarted
from .transcript import arguments_line

_WIDTH = 200  # characters of a line where standard error is no terminal
_ID_SHOWN = 10  # characters of a run that are enough for `bumble jobs show` and leave the line whole
_FAILED = {"error": "failed", "refused": "was refused", "timeout": "took too long", "interrupted": "was interrupted"}


class Activity:
    """Shows tools at work, models that failed, compactions and push-backs; conversation itself is the surface's.

    An observer, and the plugin that offers it: it is told before anything else happens, so that a question comes
    after the call that it is about. A draft that `surface` is in the middle of is broken up first, where both are
    seen on one terminal.
    """

    def __init__(self, surface: TerminalSurface | None = None) -> None:
        self._surface = surface
        self._tools: Mapping[str, Tool] = {}
        self._turn_id = ""

    @hookimpl
    def bumble_observers(self) -> list[Observer]:
        return [self]

    def know(self, tools: Mapping[str, Tool]) -> None:
        """Learn which tools do work: the others only talk, and are not shown."""
        self._tools = tools

    def notify(self, event: Event) -> None:
        for line in self._lines(event):
            if self._surface and sys.stderr.isatty():
                self._surface.break_line()
            say(line)

    def _lines(self, event: Event) -> list[str]:
        lines: list[str] = []
        match event:
            case TurnStarted(input=input):
                self._turn_id = input.id
            case ToolStarted(call=call) if self._is_work(call.name):
                lines = [f"{call.name} {arguments_line(call)}".rstrip()]
            case ToolFinished(call=call, result=result) if result.status in _FAILED:
                lines = [f"{call.name} {_FAILED[result.status]}: {result.content}"]
            case Inferred(request=request, completion=completion) if request.owner == self._turn_id:
                failed = completion.failed_attempts
                lines = [f"{attempt.model} failed: {attempt.error}; took {completion.model}" for attempt in failed]
            case Compacted(tokens_before=before, tokens_after=after) if after < before:
                lines = [f"shortened the history from {before} to {after} tokens"]
            case JobFailing(record=record, failures=failures):
                lines = [f"{record.job} failed {failures} times: bumble jobs show {record.id[:_ID_SHOWN]}"]
            case Judged(verdict=verdict) if not verdict.done and verdict.on != "say":
                lines = [f"not done yet: {verdict.reason}"]
            case _:
                pass
        return lines

    def _is_work(self, name: str) -> bool:
        tool = self._tools.get(name)
        return tool is None or tool.is_work


def say(text: str) -> None:
    """Write one dim line to standard error; where that cannot be written, nothing else is held up."""
    width = shutil.get_terminal_size().columns - 2 if sys.stderr.isatty() else _WIDTH
    line = f"· {one_line(text, width)}"
    plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    with contextlib.suppress(OSError):
        click.echo(line if plain else click.style(line, dim=True), err=True)
