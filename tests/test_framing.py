"""Text that is shown to a model as material stays inside its frame and its budget."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bumble_core import framed, shortened
from bumble_core.framing import fitted
from tests.depth import examples

WORDS = st.text(alphabet="abcdef0123456789<> \nx", max_size=400)


@settings(max_examples=examples(200, 5_000))
@given(text=WORDS | st.text(max_size=200), label=st.sampled_from(["context", "working memory"]))
def test_nothing_in_a_text_closes_its_frame(text: str, label: str) -> None:
    first, *inside, last = framed(label, text).split("\n")
    assert first.startswith(f"<<<{label} ")
    assert last == f"{first.removeprefix('<<<')}>>>"
    assert last not in "\n".join(inside)
    assert "\n".join(inside) == text


def test_a_text_that_holds_the_word_of_its_frame_gets_another() -> None:
    digits = "".join(f"{number:05x}" for number in range(20_000))
    texts = (f"{digits}{number}" for number in range(20_000))
    text = next(text for text in texts if hashlib.sha256(text.encode()).hexdigest()[:6] in text)
    word = framed("note", text).split()[1]
    assert word.partition("\n")[0] not in text


def test_the_same_text_is_framed_alike_every_time() -> None:
    assert framed("note", "It rains.") == framed("note", "It rains.")


@pytest.mark.parametrize(
    ("lengths", "budget", "left"),
    [((10, 20), 30, (10, 20)), ((10, 200, 30), 150, (10, 110, 30)), ((300, 300), 200, (100, 100)), ((5, 5), 0, (0, 0))],
    ids=["all-fit", "the-longest-is-cut", "equals-share", "no-room"],
)
def test_a_budget_is_taken_from_the_longest(lengths: tuple[int, ...], budget: int, left: tuple[int, ...]) -> None:
    texts = fitted(["x" * length for length in lengths], budget)
    assert tuple(map(len, texts)) == left


@given(texts=st.lists(st.text(max_size=120), max_size=6), budget=st.integers(0, 400))
def test_texts_never_exceed_their_budget(texts: list[str], budget: int) -> None:
    after = fitted(texts, budget)
    assert sum(map(len, after)) <= budget or after == texts
    assert sum(map(len, after)) <= max(budget, 0) or sum(map(len, texts)) <= budget


def test_a_text_is_cut_between_lines_and_says_so() -> None:
    text = "\n".join(f"line {number}" for number in range(40))
    cut = shortened(text, 100)
    *lines, mark = cut.split("\n")
    assert lines == text.split("\n")[: len(lines)]
    assert mark == f"[… the rest of {len(text)} characters is left out]"
