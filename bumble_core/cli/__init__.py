"""The command line. `main` is loaded with all that it needs when it is called, so that Ctrl-C is heard from then on.

This module imports only what the interpreter has loaded by itself, or nearly.
"""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Sequence

_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `bumble` with `arguments` (by default those of the process) and return its exit status.

    While a process of its own begins and ends, when nothing can be lost any more, Ctrl-C leaves at once.
    """
    is_process = arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_process:
        return _run(arguments)
    signal.signal(signal.SIGINT, _leave)
    frame = importlib.import_module(f"{__name__}.frame")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        status: int = frame.main(arguments)
    finally:
        signal.signal(signal.SIGINT, _leave)
    return status


def _run(arguments: Sequence[str] | None) -> int:
    status: int = importlib.import_module(f"{__name__}.frame").main(arguments)
    return status


def _leave(number: int, frame: object) -> None:
    try:
        os.write(2, b"Interrupted.\n")
    finally:
        os._exit(_INTERRUPTED)
