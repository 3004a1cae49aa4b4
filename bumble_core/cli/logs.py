"""Send log lines to standard error. Only the command line configures logging."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import EventDict, WrappedLogger

from ..secrecy import masked


def configure(*, debug: bool) -> None:
    """Show warnings and above, or with `debug` everything."""
    level = logging.DEBUG if debug else logging.WARNING
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _without_secrets,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )


def _without_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    return {name: masked(value, name) for name, value in event.items()}
