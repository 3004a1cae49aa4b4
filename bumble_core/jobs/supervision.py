"""Let a piece of work run, but not for ever and not in the way of a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import TypeVar

import structlog

from ..ports import Clock
from .courtesy import Courtesy

log = structlog.get_logger(__name__)

_LONGEST_END_S = 5.0  # for work that was told to stop
T = TypeVar("T")


class GaveWay(Exception):
    """The work was stopped because a turn needs what it uses."""


async def supervised(
    work: Coroutine[object, object, T], run_id: str, limit: timedelta, clock: Clock, courtesy: Courtesy
) -> T:
    """Return what `work` returns.

    Raises:
        TimeoutError: it took longer than `limit`.
        GaveWay: a turn came.
    """
    task = asyncio.create_task(work)
    alarm = asyncio.create_task(clock.sleep(limit.total_seconds()))
    try:
        with courtesy.running(run_id, task.cancel):
            await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
        is_late = not task.done()
    finally:
        alarm.cancel()
        await _ended(task, run_id)
    if courtesy.given_way(run_id) and (task.cancelled() or not task.done()):
        raise GaveWay
    if is_late or not task.done():
        raise TimeoutError(f"the run took longer than {limit}")
    return task.result()


async def uninterrupted(work: Coroutine[object, object, T]) -> T:
    """Return what `work` returns; a cancel takes effect when it has ended."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


async def _ended(task: asyncio.Task[T], run_id: str) -> None:
    if task.done():
        return
    task.cancel()
    await asyncio.wait({task}, timeout=_LONGEST_END_S)
    if not task.done():
        log.error("job.does_not_stop", run_id=run_id)
