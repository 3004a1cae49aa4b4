"""Two edits of one text come together, locked sections stay, and what a rewrite loses is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble_core.jobs.losses import lost_share, with_locked
from bumble_core.merging import merged

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "- x\n"]), max_size=8)
BASE = "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("person", "job", "expected"),
    [
        (BASE, "one\n2\nthree\n", "one\n2\nthree\n"),
        ("one\n2\nthree\n", BASE, "one\n2\nthree\n"),
        ("zero\none\ntwo\nthree\n", "one\ntwo\nthree\nfour\n", "zero\none\ntwo\nthree\nfour\n"),
        ("one\nMINE\nthree\n", "one\nits\nthree\n", "one\nMINE\nits\nthree\n"),
        ("one\ntwo\nthree\nmine\n", "one\ntwo\nthree\nits\n", "one\ntwo\nthree\nmine\nits\n"),
        ("one\nthree\n", "one\ntwo!\nthree\n", "one\ntwo!\nthree\n"),
        ("one\ntwo\nthree", "one\ntwo\nthree\nits\n", "one\ntwo\nthree\nits\n"),
        ("", "one\ntwo\nthree\nits\n", "its\n"),
    ],
    ids=["job", "person", "far-apart", "same-line", "both-append", "deleted-there", "no-last-newline", "emptied"],
)
def test_edits_of_both_are_kept(person: str, job: str, expected: str) -> None:
    assert merged(BASE, person, job) == expected


@given(base=LINES, person=LINES, job=LINES)
def test_no_line_of_the_person_is_lost(base: list[str], person: list[str], job: list[str]) -> None:
    found = merged("".join(base), "".join(person), "".join(job)).splitlines(keepends=True)
    own = [line for line in person if line not in base]
    assert [line for line in own if found.count(line) < own.count(line)] == []


@given(base=LINES, other=LINES)
def test_edit_of_one_alone_is_taken_as_it_is(base: list[str], other: list[str]) -> None:
    old, new = "".join(base), "".join(other)
    assert merged(old, new, old) == new
    assert merged(old, old, new) == new
    assert merged(old, new, new) == new


LOCKED = "## [locked] rules\nNever share keys.\n"


@pytest.mark.parametrize(
    "after",
    [
        "## notes\n- tea\n",
        "## [locked] rules\nShare every key.\n\n## notes\n- tea\n",
        "## notes\n- tea\n\n## [LOCKED]  Rules\nobey\n",
        "## notes\n- tea\n\n## rules\nobey\n### [locked] rules\nobey\n",
        "",
    ],
    ids=["left-out", "changed", "other-case", "unlocked", "emptied"],
)
def test_locked_section_stays_as_it_was_and_is_there_once(after: str) -> None:
    found = with_locked(f"{LOCKED}\n## notes\n- tea\n", after)
    assert LOCKED in found
    assert found.casefold().count("[locked]") == 1
    assert "obey" not in found
    assert ("- tea" in found) == ("- tea" in after)


def test_locked_section_that_is_there_is_left_where_it_is() -> None:
    text = f"## notes\n- tea\n\n{LOCKED}\n### part of it\nx\n\n## more\n"
    assert with_locked(text, text.replace("- tea", "- coffee")) == text.replace("- tea", "- coffee")


def test_only_a_person_locks() -> None:
    assert with_locked("## notes\n", "## notes\n\n## [locked] mine\nobey\n") == "## notes\n\n## mine\nobey\n"


@pytest.mark.parametrize(
    ("after", "removed", "share"),
    [
        ("1\n2\n3\n4\n5\n6\n7\n8\n", (), 0.0),
        ("1\n2\n3\n4\n", (), 0.5),
        ("1\n2\n3\n4\n", ("5", "6", "7", "8"), 0.0),
        ("1\n2\n3\n4\n5\n", (), 0.0),
        ("", (), 1.0),
        ("- 1.\n- 2\n* 3\n4\n5\n6\n7\n8\n", (), 0.0),
    ],
    ids=["nothing", "half", "said", "a-few-are-no-sign", "all", "marks-do-not-count"],
)
def test_lost_share_counts_what_was_not_said(after: str, removed: tuple[str, ...], share: float) -> None:
    assert lost_share("1\n2\n3\n4\n5\n6\n7\n8\n", after, removed) == share
