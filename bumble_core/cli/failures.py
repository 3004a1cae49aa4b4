"""Turn whatever ended a command into words on standard error and an exit status."""

from __future__ import annotations

import traceback

import click

from ..errors import BumbleError, ConfigError, StageConflictError
from . import exit_codes


def report(error: BaseException, *, debug: bool) -> int:
    """Say what went wrong and return the exit status. A traceback is shown only with `debug`."""
    error = _lone(error)
    if debug and not isinstance(error, click.UsageError):
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, click.Abort | KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return exit_codes.INTERRUPTED
    if isinstance(error, BumbleError):
        text = str(error)
        click.echo(f"Error:\n{text}" if "\n" in text else f"Error: {text}", err=True)
        return exit_codes.MISUSED if isinstance(error, ConfigError | StageConflictError) else exit_codes.FAILED
    said = " ".join(str(error).split())
    advice = "" if debug else " (run with --debug for the traceback)"
    click.echo(f"Error: {type(error).__name__}: {said}{advice}", err=True)
    return exit_codes.FAILED


def _lone(error: BaseException) -> BaseException:
    """Return what a group of one holds: task groups wrap what their only failed task raised."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
