"""The labelled set of the completion gate holds what its README says."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path
from typing import Literal

import pytest
from pydantic import Field

from bumble_core.types.base import Value

FOLDER = Path(__file__).parent.parent / "benchmarks" / "gate"
UNFINISHED = {"promise_only", "teased_by_say", "thin_acknowledgement", "ignores_results"} | {
    "false_claim_of_work",
    "echo",
    "cut_off",
    "wrong_language",
}
FINISHED = {"honest_refusal", "honest_question_back", "done_in_text", "done_by_tools", "done_by_say", "chat"}
LANGUAGES = ("en", "es", "de", "fr", "pt", "zh", "ja", "hi", "ar", "ru")
SCRIPTS = {
    "zh": ("CJK",),
    "ja": ("HIRAGANA", "KATAKANA"),
    "hi": ("DEVANAGARI",),
    "ar": ("ARABIC",),
    "ru": ("CYRILLIC",),
}
SHORT = 20  # characters: shorter replies ("Done.") may recur


class Said(Value):
    role: Literal["user", "assistant"]
    text: str = Field(min_length=1)


class Ran(Value):
    name: str = Field(min_length=1)
    failed: bool
    preview: str = Field(min_length=1, max_length=280)


class Labelled(Value):
    id: str
    language: str
    kind: str
    user: str = Field(min_length=1)
    history: tuple[Said, ...] = ()
    said: tuple[str, ...]
    closing: str
    finish: Literal["stop", "length", "end_turn"]
    tools: tuple[Ran, ...]
    grounded: bool
    done: bool

    @property
    def visible(self) -> str:
        return " ".join((*self.said, self.closing)).strip()


def turns(part: str, language: str) -> list[Labelled]:
    lines = (FOLDER / part / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Labelled.model_validate_json(line, strict=True) for line in lines]


DEV = [turn for language in LANGUAGES for turn in turns("dev", language)]
TEST = [turn for language in LANGUAGES for turn in turns("test", language)]
ALL = DEV + TEST


def _alphabets(text: str) -> set[str]:
    return {unicodedata.name(letter, "").split(" ", maxsplit=1)[0] for letter in text if letter.isalpha()}


def test_the_set_has_over_400_turns_and_about_a_third_of_them_is_test() -> None:
    assert len(ALL) >= 400
    assert 0.3 <= len(TEST) / len(ALL) <= 0.4


def test_ids_are_unique_and_name_language_and_kind() -> None:
    assert [name for name, count in Counter(turn.id for turn in ALL).items() if count > 1] == []
    assert [turn.id for turn in ALL if not turn.id.startswith(f"{turn.language}-{turn.kind}-")] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_all_kinds_and_enough_of_both_verdicts(language: str) -> None:
    found = turns("dev", language) + turns("test", language)
    assert {turn.language for turn in found} == {language}
    assert {turn.kind for turn in found} == UNFINISHED | FINISHED
    assert min(sum(turn.done for turn in found), sum(not turn.done for turn in found)) >= 18


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_tests_promises_and_teases_and_finished_turns(language: str) -> None:
    kinds = Counter(turn.kind for turn in turns("test", language))
    assert min(kinds["promise_only"], kinds["teased_by_say"]) >= 2
    assert sum(kinds[kind] for kind in FINISHED) >= 6


def test_every_kind_stands_in_both_parts() -> None:
    assert {turn.kind for turn in DEV} == {turn.kind for turn in TEST} == UNFINISHED | FINISHED


def test_the_verdict_follows_from_the_kind() -> None:
    assert [turn.id for turn in ALL if turn.done != (turn.kind in FINISHED)] == []


def test_cut_off_means_cut_by_length_or_nothing_visible() -> None:
    cut = [turn for turn in ALL if turn.kind == "cut_off"]
    assert [turn.id for turn in cut if turn.visible and turn.finish != "length"] == []
    assert [turn.id for turn in ALL if turn.done and (not turn.visible or turn.finish == "length")] == []


def test_what_a_kind_needs_is_there() -> None:
    needs_tools = {"ignores_results", "done_by_tools"}
    assert [turn.id for turn in ALL if turn.kind in needs_tools and not turn.tools] == []
    assert [turn.id for turn in ALL if turn.kind in {"teased_by_say", "done_by_say"} and not turn.said] == []


def test_no_text_stands_in_both_parts() -> None:
    assert {turn.user for turn in DEV} & {turn.user for turn in TEST} == set()
    assert {turn.visible for turn in DEV if len(turn.visible) > SHORT} & {turn.visible for turn in TEST} == set()


def test_no_user_text_stands_twice() -> None:
    assert [text for text, count in Counter(turn.user.casefold() for turn in ALL).items() if count > 1] == []


@pytest.mark.parametrize("language", SCRIPTS)
def test_languages_with_a_script_of_their_own_use_it(language: str) -> None:
    own = set(SCRIPTS[language]) | ({"CJK"} if language == "ja" else set())
    found = turns("dev", language) + turns("test", language)
    assert [turn.id for turn in found if not own & _alphabets(turn.user)] == []
    assert SCRIPTS[language][0] in _alphabets(" ".join(turn.user for turn in found))


def test_a_reply_in_the_wrong_language_is_the_only_one_without_the_users_script() -> None:
    foreign = {
        turn.id
        for turn in ALL
        if turn.language in SCRIPTS and turn.visible and any(map(str.isalpha, turn.visible))
        if not {*SCRIPTS[turn.language], "CJK"} & _alphabets(turn.visible)
    }
    assert foreign <= {turn.id for turn in ALL if turn.kind == "wrong_language"}
