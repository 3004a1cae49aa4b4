"""Titles that a reader takes for the same are the same, and so are the ways to write that a section is locked."""

from __future__ import annotations

import pytest

from bumble_core import is_locked, title_key
from bumble_core.locking import unlocked


@pytest.mark.parametrize(
    "title", ["[locked] a", " [ LOCKED ]a", "**[Locked]** a", "［ＬＯＣＫＥＤ］ a", "[lo\u200bcked] a"]
)
def test_a_lock_is_known_however_it_is_written(title: str) -> None:
    assert (is_locked(title), title_key(title), unlocked(title)) == (True, "a", "a")


@pytest.mark.parametrize("title", ["locked", "a [locked]", "[blocked] a", "[locked", ""])
def test_what_is_no_lock_stays_as_it_is(title: str) -> None:
    assert (is_locked(title), unlocked(title)) == (False, title)


@pytest.mark.parametrize(
    ("one", "other"), [("Tea:", "tea"), ("ＴＥＡ", "tea"), ("My  tea ", "my tea"), ("*Tea*", "Tea")]
)
def test_titles_that_read_alike_have_one_key(one: str, other: str) -> None:
    assert title_key(one) == title_key(other)


@pytest.mark.parametrize(("one", "other"), [("C", "C#"), ("C", "C++"), (".NET", "net"), ("tea", "teas")])
def test_titles_that_differ_have_two(one: str, other: str) -> None:
    assert title_key(one) != title_key(other)
