"""Which texts fit a message, by words of any script."""

from __future__ import annotations

import pytest
from bumble_memory.relevance import Corpus, terms, weighted
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples

TEXTS = (
    "How a release is made and tagged",
    "Rosen schneiden: über einer Knospe",
    "पौधों को पानी देना और खाद",
    "バラの剪定は冬に行う",
    "Полив огорода вечером",
    "ดูแลดอกกุหลาบในฤดูหนาว",
)


@pytest.mark.parametrize(
    ("message", "best"),
    [
        ("please prepare the releases", 0),
        ("Wann soll ich die ROSEN schneiden?", 1),
        ("पानी कब देना है?", 2),
        ("剪定の時期は？", 3),
        ("когда поливать огород?", 4),
        ("กุหลาบ", 5),
    ],
    ids=["english", "german", "hindi", "japanese", "russian", "thai"],
)
def test_a_message_finds_the_text_with_its_words(message: str, best: int) -> None:
    assert Corpus([terms(text) for text in TEXTS]).ranked(terms(message))[0] == best


@pytest.mark.parametrize(
    ("message", "text"),
    [("gloves", "love"), ("report", "repo"), ("a of to", "a of to"), ("", "anything"), ("!?", "!?")],
    ids=["part-of-a-word", "beginning-of-a-word", "short-words", "nothing", "signs"],
)
def test_what_only_looks_alike_does_not_fit(message: str, text: str) -> None:
    assert Corpus([terms(text)]).ranked(terms(message)) == []


def test_a_word_that_most_texts_hold_tells_nothing() -> None:
    corpus = Corpus([terms(f"garden number {word}") for word in ("one", "two", "three", "four")])
    assert corpus.ranked(terms("garden number")) == []
    assert corpus.ranked(terms("garden number three")) == [2]


def test_accents_written_in_two_ways_are_the_same_word() -> None:
    assert Corpus([terms("cafe\u0301 crema")]).ranked(terms("CAFÉ")) == [0]


def test_what_weighs_more_decides() -> None:
    corpus = Corpus([terms("tea for guests"), terms("bees in winter"), terms("other things")])
    assert corpus.ranked(weighted([("bees", 1.0), ("guests", 0.25)])) == [1, 0]


@settings(max_examples=examples(60, 2_000))
@given(texts=st.lists(st.text(max_size=60), max_size=8), message=st.text(max_size=60))
def test_any_text_is_ranked_the_same_way_every_time(texts: list[str], message: str) -> None:
    corpus = Corpus([terms(text) for text in texts])
    ranked = corpus.ranked(terms(message))
    assert ranked == Corpus([terms(text) for text in texts]).ranked(terms(message))
    assert len(set(ranked)) == len(ranked) <= len(texts)
