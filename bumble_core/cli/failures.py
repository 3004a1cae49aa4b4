"""Turn whatever ended a command into words on standard error and an exit status."""

from __future__ import annotations

import contextlib
import io
import traceback

import click

from ..errors import BumbleError, ConfigError, StageConflictError
from . import exit_codes
from .output import tell


def report(error: BaseException, *, debug: bool) -> int:
    """Say what went wrong and return the exit status. A traceback is shown only with `debug`."""
    error = _lone(error)
    if debug and not isinstance(error, click.UsageError):
        _say("".join(traceback.format_exception(error)).rstrip("\n"))
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        _say(shown.getvalue().rstrip("\n"))
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        _say("Interrupted.")
        return exit_codes.INTERRUPTED
    if isinstance(error, BumbleError):
        text = str(error)
        _say(f"Error:\n{text}" if "\n" in text else f"Error: {text}")
        return exit_codes.MISUSED if isinstance(error, ConfigError | StageConflictError) else exit_codes.FAILED
    said = " ".join(str(error).split())
    advice = "" if debug else " (run with --debug for the traceback)"
    _say(f"Error: {type(error).__name__}: {said}{advice}")
    return exit_codes.FAILED


def _say(text: str) -> None:
    """Tell it on standard error; where nothing can be written, the exit status has to say enough."""
    with contextlib.suppress(OSError):
        tell(text, err=True)


def _lone(error: BaseException) -> BaseException:
    """Return what a group of one holds: task groups wrap what their only failed task raised."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
