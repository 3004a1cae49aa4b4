"""The shipped phases fulfil the contract of phases, and the contract finds what is wrong with others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from bumble_compactor import CompactorConfig, CompactorPlugin
from typing_extensions import override

from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.ports import Inference, Phase, TokenCounter
from bumble_core.testing import CompactionPhaseContract
from examples.compaction_phases import DropPleasantries, KeepQuestions
from tests.compaction.bench import settings
from tests.compaction.histories import ROGUES, Rogue

HOME = Path(tempfile.gettempdir()) / "no home of anybody"


class Shipped(CompactionPhaseContract):
    name: str

    @override
    def make(self, inference: Inference, counter: TokenCounter) -> Phase:
        documents = FileDocuments(HOME, SystemFiles(), SystemClock())
        plugin = CompactorPlugin(CompactorConfig())
        given = settings(4096, compaction_protect_last_n=3)
        offered = plugin.bumble_compaction_phases(inference, counter, documents, given)
        return next(phase for phase in offered if phase.name == self.name)


class TestPrune(Shipped):
    name = "prune"


class TestBounds(Shipped):
    name = "bounds"


class TestSummarise(Shipped):
    name = "summarise"


class TestFlush(Shipped):
    name = "flush"
    reply = "[]"

    @override
    def make(self, inference: Inference, counter: TokenCounter) -> Phase:
        Path(self._home).mkdir(exist_ok=True)
        documents = FileDocuments(Path(self._home), SystemFiles(), SystemClock())
        plugin = CompactorPlugin(CompactorConfig())
        return plugin.bumble_compaction_phases(inference, counter, documents, settings(4096))[0]

    @pytest.fixture(autouse=True)
    def _in_a_folder(self, tmp_path: Path) -> None:
        self._home = tmp_path


class TestKeepQuestions(CompactionPhaseContract):
    @override
    def make(self, inference: Inference, counter: TokenCounter) -> Phase:
        return KeepQuestions()


class TestDropPleasantries(CompactionPhaseContract):
    @override
    def make(self, inference: Inference, counter: TokenCounter) -> Phase:
        return DropPleasantries()


class Contract(CompactionPhaseContract):
    def __init__(self, phase: Phase) -> None:
        self._phase = phase

    @override
    def make(self, inference: Inference, counter: TokenCounter) -> Phase:
        return self._phase


def failures(phase: Phase) -> set[str]:
    contract: Any = Contract(phase)
    found = set()
    for name in dir(contract):
        if name.startswith("test_"):
            try:
                getattr(contract, name)()
            except (Exception, AssertionError):
                found.add(name)
    return found


@pytest.mark.parametrize(
    ("harm", "found"),
    [
        ("drop-last", "test_a_short_conversation_keeps_its_question"),
        ("drop-results", "test_the_laws_hold_on_calls_and_results"),
        ("drop-calls", "test_the_laws_hold_on_calls_and_results"),
        ("reverse", "test_the_laws_hold_on_words"),
        ("grow", "test_nothing_grows"),
        ("invent", "test_the_laws_hold_on_words"),
        ("lie", "test_what_it_is_measured_by_stays"),
        ("drop-first-half", "test_the_laws_hold_where_messages_are_pinned"),
    ],
)
def test_the_contract_finds_a_phase_that_does_harm(harm: str, found: str) -> None:
    assert found in failures(Rogue(harm, ROGUES[harm]))


def test_the_contract_finds_a_name_that_cannot_be_configured() -> None:
    assert failures(Rogue("My Phase", lambda state: state)) == {"test_it_has_a_name"}
