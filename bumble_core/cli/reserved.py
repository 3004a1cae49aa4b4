"""Keep standard output for the answer: what tools, plugins and their programs print goes to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO


@contextlib.contextmanager
def reserved_output() -> Iterator[TextIO]:
    """Give the stream that leads to standard output, which `print` and the descriptor do not until the block ends."""
    with _of_its_own(sys.stdout) as output, contextlib.redirect_stdout(sys.stderr):
        yield output


@contextlib.contextmanager
def _of_its_own(shared: TextIO) -> Iterator[TextIO]:
    with contextlib.suppress(OSError, ValueError):
        shared.flush()
    try:
        descriptor, instead = shared.fileno(), sys.stderr.fileno()
        own = os.fdopen(os.dup(descriptor), "w", encoding=shared.encoding, errors=shared.errors)
    except OSError:  # a program that calls us in its own process may give a stream without a file
        yield shared
        return
    os.dup2(instead, descriptor)
    try:
        yield own
    finally:
        os.dup2(own.fileno(), descriptor)
        with contextlib.suppress(OSError):  # what could not be written has been reported where it was
            own.close()
