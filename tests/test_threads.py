"""Plain functions in threads that are used again."""

from __future__ import annotations

import asyncio
import threading
import time
import weakref

import pytest

from bumble_core.threads import Threads

from .test_cancels import settled


async def test_functions_run_side_by_side_and_a_thread_is_used_again() -> None:
    threads, both = Threads("work"), threading.Barrier(2)

    def meet() -> str:
        both.wait(timeout=10)
        return threading.current_thread().name

    assert await asyncio.gather(*(threads.run(meet) for _ in range(2))) == ["work", "work"]
    first = [await threads.run(threading.get_ident) for _ in range(20)]
    assert len(set(first)) < len(first)


async def test_an_idle_thread_ends_and_keeps_nothing_alive_meanwhile() -> None:
    threads = Threads("work")

    class Answer:
        pass

    answer = await threads.run(Answer)
    gone = weakref.ref(answer)
    del answer
    assert await settled(lambda: gone() is not None)
    assert await settled(lambda: [each for each in threading.enumerate() if "tool" in each.name])
    assert await threads.run(lambda: 3) == 3


async def test_work_handed_to_a_thread_that_is_about_to_end_is_done() -> None:
    threads = Threads("work")
    for wait_s in (0.499, 0.4999, 0.5, 0.5001, 0.501):
        await threads.run(lambda: None)
        time.sleep(wait_s)
        async with asyncio.timeout(5):
            assert await threads.run(lambda: "done") == "done"


async def test_one_that_never_returns_holds_up_nobody() -> None:
    threads, never = Threads("work"), threading.Event()
    stuck = asyncio.create_task(threads.run(never.wait))
    assert await threads.run(lambda: 1) == 1
    stuck.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stuck
    never.set()


async def test_what_a_function_raises_is_raised_where_it_was_called() -> None:
    def broken() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        await Threads("work").run(broken)
