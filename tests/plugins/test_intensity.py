"""Intensity is read from the form of a text, in any language."""

from __future__ import annotations

import pytest
from bumble_router.intensity import intensity
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Good morning.", 0.0),
        ("Thanks!", 0.1),
        ("谢谢！！", 0.2),
        ("no!!!!!!!!", 0.4),
        ("what?!", 0.25),
        ("WHERE ARE YOU", 0.5),
        ("ГДЕ ТЫ БЫЛ!!!", 0.8),
        ("OK", 0.0),
        ("I am *so* tired", 0.1),
        ("sooo tired", 0.1),
        ("2 * 3 * 4", 0.0),
        ("😭😭😭😭😭😭", 0.2),
    ],
)
def test_intensity_adds_up_what_the_text_shows(text: str, expected: float) -> None:
    assert intensity(text) == pytest.approx(expected)


@given(st.text())
@settings(max_examples=examples(100, 2000))
def test_intensity_is_between_zero_and_one(text: str) -> None:
    assert 0 <= intensity(text) <= 1
