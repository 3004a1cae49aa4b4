"""Moments of schedules, on nights when the clocks are set too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bumble_core.jobs.schedule import next_moment, previous_moment, problem
from tests.depth import examples

BERLIN = "Europe/Berlin"
ZONES = [BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/St_Johns", "Africa/Casablanca"]
EXPRESSIONS = ["30 2 * * *", "0 0 * * *", "*/20 * * * *", "0 */3 * * *", "15,45 1-3 * * *", "0 4 * * 1", "0 3,15 * * *"]


def moments(expression: str, zone: str, begin: str, number: int) -> list[str]:
    at, found = datetime.fromisoformat(begin).replace(tzinfo=UTC), []
    for _ in range(number):
        following = next_moment(expression, zone, at)
        assert following is not None
        found.append(f"{following:%d %H:%M}")
        at = following
    return found


@pytest.mark.parametrize(
    ("expression", "begin", "expected"),
    [
        ("30 2 * * *", "2026-10-24T12:00", ["25 00:30", "26 01:30", "27 01:30"]),
        ("30 2 * * *", "2026-03-28T00:00", ["28 01:30", "29 01:30", "30 00:30"]),
        ("*/30 2 * * *", "2026-10-24T12:00", ["25 00:00", "25 00:30", "26 01:00"]),
        ("0 * * * *", "2026-10-24T22:30", ["24 23:00", "25 00:00", "25 01:00", "25 02:00"]),
        ("0 * * * *", "2026-03-28T23:30", ["29 00:00", "29 01:00", "29 02:00"]),
    ],
    ids=["once-in-autumn", "not-left-out-in-spring", "both-slots-once", "hourly-in-autumn", "hourly-in-spring"],
)
def test_slot_comes_when_a_person_expects_it(expression: str, begin: str, expected: list[str]) -> None:
    assert moments(expression, BERLIN, begin, len(expected)) == expected


@settings(max_examples=examples(60, 3000))
@given(
    expression=st.sampled_from(EXPRESSIONS),
    zone=st.sampled_from(ZONES),
    at=st.integers(0, 15 * 366 * 86_400).map(
        lambda seconds: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    ),
)
def test_slots_before_and_after_any_moment_are_neighbours(expression: str, zone: str, at: datetime) -> None:
    before, after = previous_moment(expression, zone, at), next_moment(expression, zone, at)
    assert before is not None
    assert after is not None
    assert before <= at < after
    assert (next_moment(expression, zone, before), previous_moment(expression, zone, after)) == (after, after)
    assert previous_moment(expression, zone, after - timedelta(microseconds=1)) == before


@pytest.mark.parametrize(
    ("expression", "zone", "text"),
    [
        ("every day", "UTC", "not a five-field cron expression"),
        ("* * * * * *", "UTC", "not a five-field cron expression"),
        ("61 * * * *", "UTC", "not a five-field cron expression"),
        ("0 0 30 2 *", "UTC", "never comes"),
        ("0 4 * * *", "Mars/Olympus", "no time zone"),
        ("0 4 29 2 *", BERLIN, ""),
    ],
)
def test_problem_of_a_schedule_is_named(expression: str, zone: str, text: str) -> None:
    found = problem(expression, zone)
    assert (text in found) if text else not found
