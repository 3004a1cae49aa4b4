"""Run one command and answer for how it ends.

Nothing of the kernel is imported before a command is called.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from . import exit_codes
from .app import app
from .failures import report
from .options import Invocation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `bumble` with `arguments` (by default those of the process) and return its exit status.

    A command that returns a number chooses the status itself.
    """
    _collect_seldom()
    _fill_closed_streams()
    _print_whatever_the_encoding()
    invocation = Invocation()
    try:
        given = None if arguments is None else list(arguments)
        outcome = app.main(given, prog_name="bumble", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except BrokenPipeError:
        return _leave_quietly(sys.stdout)
    except SystemExit as left:
        return _status(left.code)
    except BaseException as error:
        return report(error, debug=invocation.common.debug)
    else:
        return outcome if isinstance(outcome, int) else exit_codes.FINE
    finally:
        for stream in (sys.stdout, sys.stderr):
            _give_up_what_cannot_be_written(stream)


def _fill_closed_streams() -> None:
    """Let what the caller closed be nothing to read and nowhere to write, before a file of ours gets its number."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115 open as long as the process
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


def _collect_seldom() -> None:
    """Look for cycles neither while a command starts nor when the process ends; together that is a fifth of its time.

    A start makes some 100,000 objects that stay. What a long chat makes after them is still collected.
    """
    gc.set_threshold(150_000, 20, 20)
    atexit.register(gc.freeze)


def _print_whatever_the_encoding() -> None:
    """Escape what a stream's encoding cannot show, rather than fail half-way."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _leave_quietly(stream: TextIO) -> int:
    """End after the reader of our output has gone; the interpreter's last flush must not complain either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return exit_codes.FAILED


def _give_up_what_cannot_be_written(stream: TextIO) -> None:
    """Spare the interpreter's last flush an error that has been reported, or cannot be."""
    try:
        stream.flush()
    except (OSError, ValueError):
        _leave_quietly(stream)


def _status(code: str | int | None) -> int:
    if isinstance(code, str):
        print(code, file=sys.stderr)
        return exit_codes.FAILED
    return code or exit_codes.FINE
