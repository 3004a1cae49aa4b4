"""Send log lines to standard error. Only the command line configures logging."""

from __future__ import annotations

import contextlib
import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger
from typing_extensions import override

from ..printable import printable
from ..secrecy import masked


def configure(*, debug: bool) -> None:
    """Show warnings and above, or with `debug` everything."""
    level = logging.DEBUG if debug else logging.WARNING
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _fit_to_show,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *names: _Logger(sys.stderr),
        cache_logger_on_first_use=False,
    )


class _Logger(structlog.PrintLogger):
    """Writes lines; one that cannot be written must not fail what it tells of."""

    @override
    def msg(self, message: str) -> None:
        with contextlib.suppress(OSError):
            super().msg(message)

    log = debug = info = warn = warning = error = critical = exception = fatal = failure = err = msg


def _fit_to_show(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Cover secrets, and make visible what a terminal would obey."""
    fit = {name: masked(value, name) for name, value in event.items()}
    return {name: printable(value) if isinstance(value, str) else value for name, value in fit.items()}
