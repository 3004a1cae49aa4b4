"""Each wait has its limit, and many waits share one timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest
from typing_extensions import override

from bumble_core.patience import Patience


class CountingLoop(asyncio.SelectorEventLoop):
    """Counts the timers that are set."""

    timers = 0

    @override
    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.timers += 1
        return super().call_at(when, callback, *args, context=context)


async def waited(patience: Patience, limit_s: float, event: asyncio.Event) -> str:
    try:
        with patience.of(limit_s):
            await event.wait()
    except TimeoutError:
        return "too long"
    return "done"


@pytest.mark.parametrize("before_s", [None, 30.0, 0.001], ids=["first", "after-a-longer", "after-a-shorter"])
async def test_a_wait_that_is_too_long_is_ended(before_s: float | None) -> None:
    patience, over = Patience(), asyncio.Event()
    over.set()
    if before_s is not None:
        assert await waited(patience, before_s, over) == "done"
    async with asyncio.timeout(5):
        assert await waited(patience, 0.02, asyncio.Event()) == "too long"
        assert await waited(patience, 0.02, over) == "done"
    patience.close()


async def test_a_timer_of_an_earlier_wait_does_not_end_a_later_one() -> None:
    patience, event = Patience(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, event.set)
    over = asyncio.Event()
    over.set()
    await waited(patience, 0.02, over)
    assert await waited(patience, 5.0, event) == "done"
    patience.close()


async def test_a_cancel_from_outside_stays_a_cancel() -> None:
    patience = Patience()
    task = asyncio.create_task(waited(patience, 30.0, asyncio.Event()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    patience.close()


async def test_a_task_whose_wait_was_ended_is_not_being_cancelled() -> None:
    patience = Patience()
    await waited(patience, 0.01, asyncio.Event())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


def test_many_waits_set_one_timer() -> None:
    async def many() -> None:
        patience, over = Patience(), asyncio.Event()
        over.set()
        for _ in range(100):
            await waited(patience, 30.0, over)
        patience.close()

    loop = CountingLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(many())
        assert loop.timers == 1


async def test_a_wait_that_ends_in_another_error_keeps_it() -> None:
    patience = Patience()
    with pytest.raises(KeyError), patience.of(1.0):
        raise KeyError("own")
    patience.close()
