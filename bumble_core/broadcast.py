"""Tell every observer, and let none of them hurt another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from .contract import FAULTS
from .ports import Observer
from .types.events import Event

log = structlog.get_logger(__name__)


class Broadcast:
    """An observer that raises is logged and the rest still hear."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = tuple(observers)

    def __call__(self, event: Event) -> None:
        for observer in self._observers:
            try:
                observer.notify(event)
            except (*FAULTS, asyncio.CancelledError) as error:  # nothing waits here that could have been cancelled
                log.warning("observer.failed", observer=type(observer).__name__, error=repr(error))
