"""Many turns of a real small model in a small window: it goes on answering, and nothing that was said is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from bumble_local import pull

from bumble_core.types.inference import Profile
from bumble_core.types.turn import Route, TurnContext, TurnInput, Verdict
from tests.depth import IS_DEEP
from tests.pieces import filling
from tests.shipped import construct_shipped

TOPICS = ("the sea", "bread", "a lighthouse", "winter", "old maps", "bees", "a long walk", "tea", "rain", "stars")


@dataclass(frozen=True)
class Talk:
    """So many turns in a window of so many tokens; a reply that is cut goes on three times more.

    A question is of so many `sentences`; `shortened` is how often the view becomes shorter at least.
    """

    turns: int
    window: int
    reply: int
    sentences: int
    shortened: int


SHORT, WHOLE = (
    Talk(turns=6, window=768, reply=4, sentences=7, shortened=1),
    Talk(turns=60, window=2048, reply=12, sentences=3, shortened=3),
)


def question(number: int, sentences: int) -> str:
    topic = TOPICS[number % len(TOPICS)]
    return (
        f"Question {number}. I think about {topic} today, and about what it meant to me. " * sentences
        + f"Tell me of {topic}."
    )


class Reflex:
    """Routes without a model, for speed."""

    def __init__(self, reply: int) -> None:
        self._profile = Profile(name="reflex", max_tokens=reply, temperature=0.7)

    async def route(self, input: TurnInput) -> Route:
        return Route(profile=self._profile, models=input.models, decided_by="heuristic", reason="test")


class Content:
    """Is content with whatever was said."""

    async def judge(self, turn: TurnContext) -> Verdict:
        return Verdict(done=True, decided_by="heuristic", reason="test")


@pytest.mark.slow
@pytest.mark.timeout(3600)  # a busy machine is no failure
@pytest.mark.parametrize(
    "talk",
    [
        SHORT,
        pytest.param(WHOLE, marks=pytest.mark.skipif(not IS_DEEP, reason="takes some minutes")),
    ],
    ids=["short", "whole"],
)
async def test_many_turns_in_a_small_window_never_overflow(runtime: Callable[..., Any], talk: Talk) -> None:
    pull("smollm2")
    cognition = {
        "max_context_tokens": talk.window,
        "reflex_max_tokens": talk.reply,
        "deliberate_max_tokens": talk.reply,
        "history_compression": {"compaction_protect_last_n": 6, "compaction_flush_to_knowledge": False},
    }
    local = construct_shipped("local", local={"threads": 2})
    plugins = {**local, "calm": filling(router=Reflex(talk.reply), judge=Content())}
    built, _ = runtime(plugins=plugins, agent={"models": ["local:smollm2"]}, cognition=cognition)
    asked = [question(number, talk.sentences) for number in range(talk.turns)]
    async with built:
        turns = [await built.answer(text) for text in asked]
        stored = await built.sessions.turns()
        view = (await built.sessions.resume("default")).view
    assert [turn.error for turn in turns if turn.status == "failed"] == []
    assert [number for number, turn in enumerate(turns) if not turn.text.strip()] == []
    assert [turn.messages[0].text for turn in stored] == asked
    assert [turn.messages for turn in stored] == [turn.messages for turn in turns]
    compactions = [each for turn in turns for each in turn.compactions]
    assert all(each.tokens_after < talk.window for each in compactions)
    assert [each for each in compactions if each.cause == "overflow"] == []
    assert sum(each.freed > 0 for each in compactions) >= talk.shortened
    assert len(view) < sum(len(turn.messages) for turn in turns)
