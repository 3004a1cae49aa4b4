"""The shapes of memory files: nothing is lost or taken for a heading, whatever stands there."""

from __future__ import annotations

import time

import pytest
from bumble_memory.markdown import passages, sections
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.depth import examples

LINES = st.lists(
    st.sampled_from(
        ["## A", "# B", "### C", "- x", "  more", "```", "````py", "~~~", "", "text", "##no", "1. y", "##"]
    ),
    max_size=14,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("before\n## A\n\na\n## B\nb", [("", "before"), ("A", "a"), ("B", "b")]),
        ("## A\n```\n## no\n```\n## B", [("A", "```\n## no\n```"), ("B", "")]),
        ("## A\n````\n```\n## no\n````\n", [("A", "````\n```\n## no\n````")]),
        ("## A\n```\n## B\nnever closed", [("A", "```"), ("B", "never closed")]),
        ("# Title\n\nintro\n\n## A ##\na", [("", "intro"), ("A", "a")]),
        ("\ufeff## A\r\na\r\n", [("A", "a")]),
    ],
    ids=["plain", "in-a-fence", "longer-fence", "open-fence", "title", "byte-order-mark"],
)
def test_a_text_is_split_at_its_headings(text: str, found: list[tuple[str, str]]) -> None:
    assert [(section.heading, section.body) for section in sections(text)] == found


def test_an_entry_has_its_indented_lines_and_its_heading() -> None:
    one, two, three = passages("## Facts\n- one\n  and more\n- two\n\nA paragraph\nof two lines\n")
    assert (one.heading, one.line, one.text, one.is_entry) == ("Facts", 2, "- one\n  and more", True)
    assert (two.line, two.text) == (4, "- two")
    assert (three.line, three.text, three.is_entry) == (6, "A paragraph\nof two lines", False)


@settings(max_examples=examples(150, 5_000))
@given(lines=LINES)
def test_every_word_stands_in_one_section_and_in_one_passage(lines: list[str]) -> None:
    text = "\n".join(lines)
    in_sections = "\n".join(section.body for section in sections(text))
    in_passages = "\n".join(passage.text for passage in passages(text))
    for word in ("- x", "more", "text", "##no", "1. y"):
        assert in_sections.count(word) == in_passages.count(word) == text.count(word)


def test_a_file_of_fences_that_are_never_closed_takes_no_time() -> None:
    text = "\n".join(f"{'`' * (3 + number % 40)}x" for number in range(20_000))
    begin = time.process_time()
    assert len(passages(text)) == 1
    assert time.process_time() - begin < 2.0
