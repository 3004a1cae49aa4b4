"""The labelled messages of the routing benchmark: complete, balanced, and apart."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher

import pytest

from tests.installed import CHECKOUT

FOLDER = CHECKOUT / "benchmarks" / "routing"
SCRIPTS = {
    "en": ("LATIN",),
    "es": ("LATIN",),
    "de": ("LATIN",),
    "fr": ("LATIN",),
    "pt": ("LATIN",),
    "zh": ("CJK",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "hi": ("DEVANAGARI",),
    "ar": ("ARABIC",),
    "ru": ("CYRILLIC",),
}
COUNTS = {
    "dev": {"CHAT": 20, "GROUNDED": 6, "EXACT": 7, "DEEP": 7},
    "test": {"CHAT": 10, "GROUNDED": 4, "EXACT": 3, "DEEP": 3},
}
LANGUAGES = list(SCRIPTS)


@dataclass(frozen=True)
class Labelled:
    id: str
    language: str
    label: str
    text: str
    half: str


def labelled(half: str, language: str) -> list[Labelled]:
    lines = (FOLDER / half / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Labelled(**json.loads(line), half=half) for line in lines]


def both(language: str) -> list[Labelled]:
    return labelled("dev", language) + labelled("test", language)


def bare(text: str) -> str:
    """The letters and digits alone, so that neither case, accents nor marks tell two texts apart."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return re.sub(r"[\W_]+", " ", apart).strip() or text


def in_script(text: str, scripts: tuple[str, ...]) -> bool:
    return any(unicodedata.name(letter, "").startswith(scripts) for letter in text if letter.isalpha())


def test_each_half_has_the_ten_languages_and_nothing_else() -> None:
    found = {half: sorted(path.stem for path in (FOLDER / half).iterdir()) for half in COUNTS}
    assert found == dict.fromkeys(COUNTS, sorted(LANGUAGES))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", COUNTS)
def test_labels_are_balanced(half: str, language: str) -> None:
    assert Counter(message.label for message in labelled(half, language)) == COUNTS[half]


@pytest.mark.parametrize("language", LANGUAGES)
def test_fields_say_where_a_message_belongs(language: str) -> None:
    messages = both(language)
    wanted = {f"{m.language}-{m.label.lower()}-{m.id[-2:]}" for m in messages if m.language == language}
    assert {message.id for message in messages} == wanted
    assert len(wanted) == 60
    assert [message.id for message in messages if message.text != message.text.strip() or not message.text] == []


def test_no_message_stands_twice() -> None:
    seen = Counter(bare(message.text) for language in LANGUAGES for message in both(language))
    assert [text for text, times in seen.items() if times > 1] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_of_one_half_is_nearly_one_of_the_other(language: str) -> None:
    dev, test = ([bare(message.text) for message in labelled(half, language)] for half in ("dev", "test"))
    pairs = [(one, other) for one in dev for other in test if min(len(one), len(other)) >= 8]
    assert [pair for pair in pairs if SequenceMatcher(None, *pair).quick_ratio() > 0.8 and alike(*pair)] == []


def alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other).ratio() > 0.8


@pytest.mark.parametrize(("language", "scripts"), SCRIPTS.items(), ids=LANGUAGES)
def test_nearly_all_messages_are_in_the_language_s_script(language: str, scripts: tuple[str, ...]) -> None:
    messages = [message.text for message in both(language)]
    assert sum(in_script(text, scripts) for text in messages) >= 0.85 * len(messages)


@pytest.mark.parametrize("language", LANGUAGES)
def test_length_does_not_give_the_profile_away(language: str) -> None:
    messages = both(language)
    chats = sorted(len(message.text) for message in messages if message.label == "CHAT")
    others = sorted(len(message.text) for message in messages if message.label != "CHAT")
    assert chats[-1] > others[len(others) // 2]
    assert others[0] <= chats[len(chats) // 2]
