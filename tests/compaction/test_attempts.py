"""A model that cannot summarise, or keep facts, is not asked the same again at every turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bumble_compactor.attempts import Attempts
from bumble_compactor.owed import OWED

from bumble_core import Message
from bumble_core.errors import Unreachable
from tests.compaction.bench import MODEL, SUMMARY, Bench, Summariser, settings, talk

KEY = ("s", MODEL)
CUT = ("Goal: to go on and on and on", "length")


def asked_again(attempts: Attempts, compactions: int, messages: int = 20) -> list[int]:
    """Fail at every question; return the compactions in which one was asked."""
    asked = []
    for number in range(compactions):
        if attempts.may_ask(KEY, messages, is_new=True):
            attempts.failed(KEY, messages)
            asked.append(number)
    return asked


def test_the_wait_is_doubled_by_each_failure() -> None:
    assert asked_again(Attempts(), 120) == [0, 3, 8, 17, 34, 67, 100]


def test_a_success_ends_the_wait() -> None:
    attempts = Attempts()
    asked_again(attempts, 10)
    attempts.succeeded(KEY)
    assert asked_again(attempts, 4) == [0, 3]


def test_twice_as_much_is_another_task() -> None:
    attempts = Attempts()
    attempts.failed(KEY, 20)
    assert [attempts.may_ask(KEY, messages, is_new=False) for messages in (20, 39, 40)] == [False, False, True]


@pytest.mark.parametrize("key", [("other", MODEL), ("s", MODEL.model_copy(update={"model": "b"}))], ids=["s", "m"])
def test_a_failure_says_nothing_of_other_sessions_and_models(key: Any) -> None:
    attempts = Attempts()
    attempts.failed(KEY, 20)
    assert attempts.may_ask(key, 20, is_new=True)


def bench(home: Path, *say: Any, facts: Any = "[]", window: int = 2048, **compression: Any) -> Bench:
    return Bench(home, Summariser(*say, facts=facts), settings(window, **compression))


async def grown(bench: Bench, messages: tuple[Message, ...], turns: int) -> int:
    """Compact before each of `turns` turns, as a conversation does that stays above its threshold."""
    for number in range(turns):
        after = await bench.compact(messages, cause="threshold")
        messages = (*after.messages[:-1], *talk(1, words=number))
    return len(bench.summariser.asked)


async def test_a_summary_that_is_always_cut_is_not_asked_for_at_every_turn(tmp_path: Path) -> None:
    assert await grown(bench(tmp_path, CUT), talk(30), 10) == 3


async def test_a_model_that_nobody_reaches_is_asked_again_at_once(tmp_path: Path) -> None:
    assert await grown(bench(tmp_path, Unreachable("down")), talk(30), 4) >= 4


async def test_who_asks_for_a_compaction_gets_another_try(tmp_path: Path) -> None:
    phase, history = bench(tmp_path, "", SUMMARY), talk(30)
    await phase.compact(history, cause="threshold")
    after = await phase.compact(history, cause="asked")
    assert SUMMARY in "".join(message.text for message in after.messages)


@pytest.mark.parametrize("window", [2048, 4096, 32_768])
async def test_what_is_asked_for_fits_the_window_of_the_summariser(tmp_path: Path, window: int) -> None:
    as_long_as_it_may = (SUMMARY * 200)[: window // 8 * 4]
    phase = bench(tmp_path, as_long_as_it_may, window=window)
    longest: list[int] = []
    whole = phase.summariser.stream

    async def watched(request: Any) -> Any:
        longest.append(phase.counter.count(request.messages, (), MODEL) + request.profile.max_tokens)
        async for item in whole(request):
            yield item

    phase.summariser.stream = watched  # type: ignore[method-assign]
    await phase.compact(talk(600))
    assert 0 < max(longest) <= window


async def test_no_message_is_flushed_twice(tmp_path: Path) -> None:
    phase = bench(tmp_path, CUT, window=8192)
    await grown(phase, talk(30), 6)
    assert len(phase.summariser.flushed) == 1
    owed = json.loads((await phase.documents.read(OWED)).text)[0]["messages"]
    assert len(owed) == len(set(owed))
