"""A text that goes in circles is told from one that only repeats a word."""

from __future__ import annotations

import pytest

from bumble_core.circles import CirclesWatch, goes_in_circles

STORY = "The bees went out at dawn, found the lavender behind the mill, and told the others by dancing. "


@pytest.mark.parametrize(
    ("text", "circles"),
    [
        ("L'idée est la croix.\n\n" * 20, True),
        (STORY + "Capital of France is Paris, a city renowned for its heritage.\n\n" * 6 + "Capital of Fr", True),
        (STORY * 6, True),
        ("蜂蜜很甜。" * 60, True),
        ("ha " * 400, True),
        (STORY + "ha ha ha ha ha", False),
        (STORY * 2, False),
        ("".join(f"| {number} | {number * number} |\n" for number in range(200)), False),
        ("", False),
        ("-" * 80, False),
    ],
    ids=["a-line", "cut-short", "long", "chinese", "a-word", "laugh", "twice", "table", "nothing", "a-rule"],
)
def test_a_text_that_says_the_same_again_and_again_is_told(text: str, circles: bool) -> None:
    assert goes_in_circles(text) is circles


@pytest.mark.parametrize(
    ("pieces", "lost"),
    [
        (["0, "] * 600, False),
        (["0, "] * 900, True),
        ([STORY] * 30, True),
        (["I shall not talk in class.\n"] * 50, False),
        ([f"{number}. I shall not talk.\n" for number in range(300)], False),
        ([STORY, "word " * 900], True),
    ],
    ids=["zeros", "far-too-many-zeros", "a-story", "lines", "numbered", "one-piece"],
)
def test_a_text_that_comes_is_given_a_page_to_find_its_way(pieces: list[str], lost: bool) -> None:
    watch = CirclesWatch()
    assert any(watch.is_lost_after(piece) for piece in pieces) is lost
