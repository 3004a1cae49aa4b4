"""The shipped judge passes the conformance suite that anyone's judge is held to, and the suite finds faults."""

from __future__ import annotations

import pytest
from bumble_judge import JudgePlugin
from typing_extensions import override

from bumble_core import PluginConfig, Settings
from bumble_core.ports import Inference, Judge
from bumble_core.testing import JudgeContract
from bumble_core.types.turn import TurnContext, Verdict


class TestShipped(JudgeContract):
    @override
    def make(self, inference: Inference) -> Judge:
        plugin = JudgePlugin(PluginConfig())
        return plugin.bumble_judge(
            inference=inference, tools={}, languages=plugin.bumble_languages(), settings=Settings()
        )


class Terse:
    """Refuses without a word of what to do."""

    async def judge(self, turn: TurnContext) -> Verdict:
        return Verdict(done=False, decided_by="heuristic", reason="no")


class Fickle:
    """Changes its mind."""

    def __init__(self, minds: list[bool]) -> None:
        self._minds = minds

    async def judge(self, turn: TurnContext) -> Verdict:
        self._minds.append(not self._minds[-1])
        return Verdict(done=self._minds[-1], decided_by="heuristic", reason="so", nudge="so")


class TenLines(JudgeContract):
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @override
    def make(self, inference: Inference) -> Judge:
        return self._judge


def test_a_refusal_without_a_nudge_is_found() -> None:
    with pytest.raises(AssertionError, match="refused without a nudge"):
        TenLines(Terse()).test_a_refusal_tells_the_model_what_to_do()


def test_a_judge_that_changes_its_mind_is_found() -> None:
    with pytest.raises(AssertionError, match="once done, once not"):
        TenLines(Fickle([True])).test_the_same_turn_gets_the_same_verdict()
