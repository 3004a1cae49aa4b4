"""How often the shipped router is right on the labelled messages that nobody looked at while tuning."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from functools import cache

import pytest

from bumble_core import assistant
from bumble_core.cli.labelled_messages import LabelledMessage, read_messages, shipped_messages
from bumble_core.cli.route_figures import Decision, Figures, baselines, figures, grouped
from bumble_core.testing import asked
from bumble_core.types.inference import Completion, Delta, Request
from bumble_core.types.settings import Cognition
from tests.plugins.test_router import Word, router

TEST = read_messages(shipped_messages(), "test")
LANGUAGES = sorted({message.language for message in TEST})


class Perfect:
    """Knows the label of every message that it is shown."""

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        shown = request.messages[-1].text
        label = next(message.label for message in TEST if f"\n{message.text}\n" in shown)
        yield Completion(message=assistant(label), finish="stop", model=request.models[0])


async def decided(messages: Sequence[LabelledMessage], *, perfect: bool) -> list[Decision]:
    deciding = router(Perfect() if perfect else None)
    decisions = []
    for message in messages:
        input = asked(message.text)
        route = await deciding.route(input)
        decisions.append(Decision(message=message, route=route, explanation=deciding.explain(input)))
    return decisions


@cache
def alone() -> tuple[Decision, ...]:
    return tuple(asyncio.run(decided(TEST, perfect=False)))


def of(group: str, decisions: Sequence[Decision]) -> Figures:
    return figures(group, decisions, Cognition())


def test_the_profile_is_right_without_a_model() -> None:
    all = of("all", alone())
    assert (all.messages, (all.accuracy or 0) >= 0.85) == (200, True), all


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_profile_is_right_without_a_model_in_each_language(language: str) -> None:
    one = of(language, grouped(alone(), lambda message: message.language)[language])
    assert (one.messages, (one.accuracy or 0) >= 0.75) == (20, True), one


def test_neither_profile_is_neglected() -> None:
    all = of("all", alone())
    assert min(all.reflex_recall or 0, all.deliberate_recall or 0) >= 0.8, all


def test_most_messages_need_no_model() -> None:
    assert (of("all", alone()).without_a_model or 0) >= 0.7


def test_a_perfect_classifier_makes_nearly_all_right() -> None:
    assert (of("all", asyncio.run(decided(TEST, perfect=True))).accuracy or 0) >= 0.97


def test_routers_that_look_at_nothing_are_right_half_of_the_time() -> None:
    found = {each.group: round(each.accuracy or 0, 2) for each in baselines(TEST, Cognition())}
    assert (found["always reflex"], found["always deliberate"]) == (0.5, 0.5)


async def test_a_wrong_word_of_the_classifier_is_believed() -> None:
    deciding = router(Word("CHAT"))
    unsure = [message for message in TEST if not deciding.explain(asked(message.text)).is_certain]
    routes = [await deciding.route(asked(message.text)) for message in unsure]
    assert {route.decided_by for route in routes} <= {"classifier"}
