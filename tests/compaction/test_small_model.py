"""Many turns of a real small model in a small window: it goes on answering, and nothing that was said is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bumble_local import pull

from bumble_core.types.inference import Profile
from bumble_core.types.turn import Route, TurnContext, TurnInput, Verdict
from tests.depth import IS_DEEP
from tests.pieces import filling
from tests.shipped import construct_shipped

TOPICS = ("the sea", "bread", "a lighthouse", "winter", "old maps", "bees", "a long walk", "tea", "rain", "stars")
WINDOW, TURNS = 2048, 60


def question(number: int) -> str:
    """Return words enough to fill the window every dozen turns."""
    topic = TOPICS[number % len(TOPICS)]
    return (
        f"Question {number}. I think about {topic} today, and about what it meant to me. " * 3 + f"Tell me of {topic}."
    )


class Reflex:
    """Routes without a model, for speed."""

    async def route(self, input: TurnInput) -> Route:
        profile = Profile(name="reflex", max_tokens=12, temperature=0.7)
        return Route(profile=profile, models=input.models, decided_by="heuristic", reason="test")


class Content:
    """Is content with whatever was said."""

    async def judge(self, turn: TurnContext) -> Verdict:
        return Verdict(done=True, decided_by="heuristic", reason="test")


@pytest.mark.skipif(not IS_DEEP, reason="takes a quarter of an hour: half a minute for each summary")
@pytest.mark.slow
@pytest.mark.timeout(3600)  # a busy machine is no failure
async def test_many_turns_in_a_small_window_never_overflow(runtime: Callable[..., Any]) -> None:
    pull("smollm2")
    cognition = {
        "max_context_tokens": WINDOW,
        "reflex_max_tokens": 12,
        "deliberate_max_tokens": 12,
        "history_compression": {
            "compaction_protect_last_n": 6,
            "compaction_flush_to_knowledge": False,
            "compaction_max_passes": 1,
        },
    }
    local = construct_shipped("local", local={"threads": 2})
    plugins = {**local, "calm": filling(router=Reflex(), judge=Content())}
    built, _ = runtime(plugins=plugins, agent={"models": ["local:smollm2"]}, cognition=cognition)
    async with built:
        turns = [await built.answer(question(number)) for number in range(TURNS)]
        stored = await built.sessions.turns()
        view = (await built.sessions.resume("default")).view
    assert [turn.error for turn in turns if turn.status == "failed"] == []
    assert [number for number, turn in enumerate(turns) if not turn.text.strip()] == []
    assert [turn.messages[0].text for turn in stored] == [question(number) for number in range(TURNS)]
    assert [turn.messages for turn in stored] == [turn.messages for turn in turns]
    compactions = [each for turn in turns for each in turn.compactions]
    assert len(compactions) >= 3
    assert all(each.tokens_after < WINDOW for each in compactions)
    assert len(view) < sum(len(turn.messages) for turn in turns)
