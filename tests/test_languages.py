"""Phrases are found on word boundaries in every script."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bumble_core.languages import Lexicon, folded, merged, read_packs, words
from bumble_core.types.languages import LanguagePack
from tests.depth import examples


def lexicon(*phrases: str) -> Lexicon:
    return Lexicon([LanguagePack(language="xx", lists={"list": phrases})])


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("repo", "is it in my repo?"),
        ("repo", "REPO!"),
        ("thank you", "well, Thank  You"),
        ("don't", "I DON’T know"),
        ("como estas", "¿Cómo estás?"),
        ("grüße", "GRÜSSE"),
        ("सकते हो", "क्या तुम सकते हो?"),
        ("شكراً", "شكرا جزيلا"),
        ("ещё", "Еще раз"),
        ("谢谢", "非常谢谢你"),
        ("ありがとう", "本当にありがとうございます"),
        ("ｏｋ", "ok"),
        ("👍", "nice👍"),
    ],
)
def test_a_phrase_is_found_whatever_its_case_and_accents(phrase: str, text: str) -> None:
    assert lexicon(phrase).names(text) == {"list"}


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("repo", "the report"),
        ("love", "my gloves"),
        ("on it", "come on. It rains"),
        ("thank you", "thank, you know"),
        ("नमस्त", "नमस्ते"),
        ("कर", "करो"),
        ("شكر", "شكرا"),
        ("кот", "который"),
    ],
)
def test_a_phrase_is_not_found_in_a_longer_word_or_across_a_mark(phrase: str, text: str) -> None:
    assert lexicon(phrase).matches(text) == ()


@pytest.mark.parametrize(
    ("phrase", "text"),
    [
        ("*ing", "Opening it"),
        ("*ing now", "drafting, now sorting now"),
        ("I'm *ing", "I'm reading"),
        ("*ूँगा", "मैं देखूँगा"),
        ("*усь за", "берусь за дело"),
    ],
)
def test_an_ending_is_found_in_any_longer_word(phrase: str, text: str) -> None:
    assert len(lexicon(phrase).matches(text)) == 1


@pytest.mark.parametrize(("phrase", "text"), [("*ing", "ing"), ("*ing", "inguinal"), ("*ing now", "ring. Now")])
def test_an_ending_is_no_word_of_its_own_nor_the_middle_of_one(phrase: str, text: str) -> None:
    assert lexicon(phrase).matches(text) == ()


def test_a_match_tells_which_words_it_covers() -> None:
    (match,) = lexicon("thank you").matches("Oh, thank you so much")
    assert (match.start, match.end, len(words("Oh, thank you so much"))) == (1, 3, 5)


def test_a_very_long_text_is_looked_through_in_time_linear_in_it() -> None:
    mixed = lexicon("aa", "谢谢", "a a a a").matches
    began = time.process_time()
    mixed("a" * 100_000)
    mixed("谢a " * 25_000)
    assert time.process_time() - began < 2


@given(st.text(), st.text())
@settings(max_examples=examples(100, 2000))
def test_words_are_those_of_the_folded_text(left: str, right: str) -> None:
    assert words(folded(left)) == words(left)
    assert words(f"{left}\n{right}") == (*words(left), *words(right))


def test_packs_of_one_language_are_joined_list_by_list() -> None:
    one = LanguagePack(language="eo", lists={"greeting": ("saluton",), "work": ("faru",)})
    two = LanguagePack(language="eo", lists={"greeting": ("saluton", "sal")})
    other = LanguagePack(language="la", lists={"greeting": ("salve",)})
    (esperanto, latin) = merged([one, two, other])
    assert esperanto.lists == {"greeting": ("saluton", "sal"), "work": ("faru",)}
    assert latin == other


def test_packs_are_read_from_the_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "eo.txt").write_text("# Esperanto\n[greeting]\nsaluton, sal  # short\nbonan tagon\n", encoding="utf-8")
    (pack,) = read_packs(tmp_path)
    assert pack == LanguagePack(language="eo", lists={"greeting": ("saluton", "sal", "bonan tagon")})


def test_a_phrase_before_the_first_list_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "eo.txt").write_text("saluton\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"eo\.txt.*saluton"):
        read_packs(tmp_path)


@pytest.mark.parametrize("before", [(), ("a zebra", "الملف", "!")], ids=["nothing", "other-texts"])
def test_what_was_looked_for_before_changes_nothing(before: tuple[str, ...]) -> None:
    lists = {"work": ("read the file", "stem*", "*ess", "* please", "'til noon", "\U0001f41d", "ملف")}
    lexicon = Lexicon([LanguagePack(language="en", lists=lists)])
    for text in before:
        lexicon.matches(text)
    text = "Read the file, stemming it, confess, do this please 'til noon \U0001f41d الملف"
    assert {match.phrase for match in lexicon.matches(text)} == set(lists["work"])


_JOINED = "\u1112\u1161\u11ab\u304b\u3099\uff76\uff9ee\u0301\ufb01\u0149\u0130\u00df\u0644\u0627\u0651\u0915\u093c'-"


@given(st.text(st.sampled_from(_JOINED) | st.characters(categories=["L", "M"])), st.text())
@settings(max_examples=examples(150, 20_000))
def test_a_phrase_is_found_in_itself_however_its_characters_join(phrase: str, other: str) -> None:
    assume(words(phrase))
    assert phrase in {match.phrase for match in lexicon(other, phrase).matches(phrase)}


def test_a_list_without_phrases_finds_nothing_and_hinders_no_other() -> None:
    lexicon = Lexicon([LanguagePack(language="en", lists={"none": (), "work": ("read",)})])
    assert lexicon.names("read it") == {"work"}
