"""A text that goes in circles is told from one that only repeats a word."""

from __future__ import annotations

import pytest

from bumble_core.circles import goes_in_circles

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
