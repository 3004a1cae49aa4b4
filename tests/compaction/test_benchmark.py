"""The tables in the documentation are what the benchmark measures, and keep what they promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import pytest

from benchmarks.compaction.page import PAGE, measured, page
from benchmarks.compaction.score import Score


@pytest.fixture(scope="module")
def found() -> Mapping[str, Sequence[Score]]:
    return measured()


def test_the_tables_are_up_to_date(found: Mapping[str, Sequence[Score]]) -> None:
    assert PAGE.read_text("utf-8") == page(found), "run: python -m benchmarks.compaction --write"


def test_nothing_that_a_summary_can_hold_is_lost_around_it(found: Mapping[str, Sequence[Score]]) -> None:
    assert {row.session: row.kept for row in found["ideal"] if row.kept < 1} == {}


def test_more_is_kept_in_less_than_was_published(found: Mapping[str, Sequence[Score]]) -> None:
    rows = found["extractive"]
    assert fmean(row.kept for row in rows) > 0.458
    assert fmean(row.reached for row in rows) > 0.683
    assert sum(row.view_tokens for row in rows) < 0.1 * sum(row.tokens for row in rows)


def test_the_index_takes_a_tenth_of_a_summary_at_most(found: Mapping[str, Sequence[Score]]) -> None:
    assert max(row.index for rows in found.values() for row in rows) <= 0.1


def test_sessions_are_several_compactions_deep(found: Mapping[str, Sequence[Score]]) -> None:
    assert min(row.compactions for rows in found.values() for row in rows) >= 3
