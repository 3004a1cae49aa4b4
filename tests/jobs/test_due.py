"""What is due, when a job is looked at next, and where it stands after a run: all of it pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from bumble_core.jobs.configured import configured_spec
from bumble_core.jobs.due import due, next_due, print_of, settled
from bumble_core.jobs.foreseeing import foresee
from bumble_core.jobs.outcomes import charged, failed, requeued, succeeded, told
from bumble_core.types.inference import Usage
from bumble_core.types.jobs import (
    AtStartup,
    Cause,
    Change,
    Cron,
    IdleFor,
    JobResult,
    JobSpec,
    JobState,
    JobView,
    Situation,
    Trigger,
    TurnsSince,
    When,
)
from bumble_core.types.settings import JobSettings
from bumble_core.types.turn import Turn

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
STARTED = Cause(trigger="startup", reason="")


def spec(*triggers: Trigger, daily_tokens: int | None = None) -> JobSpec:
    return JobSpec(id="own", summary="", triggers=triggers, daily_tokens=daily_tokens)


def now(unread: int = 0, at: datetime = NOON, last_turn: datetime | None = None) -> Situation:
    return Situation(at=at, unread=unread, last_turn=last_turn, documents={})


def test_missed_slots_of_all_schedules_collapse_into_the_latest() -> None:
    state = JobState(last_scheduled=NOON - timedelta(days=9))
    cause = due(spec(Cron("0 4 * * *"), Cron("30 6 * * *")), state, now())
    assert cause is not None
    assert cause.scheduled_for == datetime(2026, 3, 1, 6, 30, tzinfo=UTC)
    assert due(spec(Cron("0 4 * * *")), state.model_copy(update={"last_scheduled": cause.scheduled_for}), now()) is None


def test_job_that_is_new_owes_no_slot_from_before() -> None:
    state = settled(JobState(), NOON)
    assert state.last_scheduled == NOON
    assert due(spec(Cron("0 4 * * *")), state, now()) is None


def test_start_that_failed_is_owed_until_it_succeeds() -> None:
    state = failed(JobState(), STARTED, NOON, 0.0)
    later = now(at=NOON + timedelta(minutes=1))
    assert due(spec(AtStartup()), state, now(), is_starting=True) is None
    assert due(spec(AtStartup()), state, later) is not None


def test_condition_is_answered_once_until_something_changes() -> None:
    watching = spec(When(TurnsSince(2)))
    answered = JobState(seen=print_of(now(3)))
    assert due(watching, answered, now(3)) is None
    assert due(watching, answered, now(4)) is not None


@pytest.mark.parametrize(
    ("state", "triggers", "expected"),
    [
        (JobState(), (Cron("0 13 * * *"), Cron("0 15 * * *")), NOON + HOUR),
        (JobState(retry_after=NOON + 2 * HOUR), (Cron("0 13 * * *"),), NOON + 2 * HOUR),
        (JobState(day=date(2026, 3, 1), tokens=10), (Cron("0 13 * * *"),), datetime(2026, 3, 2, tzinfo=UTC)),
        (JobState(day=date(2026, 2, 28), tokens=10), (Cron("0 13 * * *"),), NOON + HOUR),
        (JobState(), (When(IdleFor(HOUR)),), NOON + HOUR / 2),
        (JobState(), (When(TurnsSince(2)),), None),
    ],
    ids=["schedule", "retry", "spent", "spent-yesterday", "idle", "turns"],
)
def test_next_look_is_when_time_makes_something_due(
    state: JobState, triggers: tuple[Trigger, ...], expected: datetime | None
) -> None:
    found = next_due(spec(*triggers, daily_tokens=10), state, now(last_turn=NOON - HOUR / 2))
    assert found == expected


def test_what_only_a_wrong_clock_can_have_written_is_forgotten() -> None:
    state = JobState(last_scheduled=NOON + timedelta(days=900), retry_after=NOON + timedelta(days=900))
    assert settled(state, NOON) == JobState(last_scheduled=NOON)
    served = JobState(last_scheduled=NOON + 3 * HOUR)
    assert settled(served, NOON) == served


def test_giving_way_is_no_failure_and_tokens_are_counted_by_day() -> None:
    state = requeued(JobState(failures=2), STARTED, NOON)
    assert (state.failures, state.owes_startup) == (2, True)
    assert NOON < (state.retry_after or NOON) <= NOON + timedelta(minutes=1)
    spent = charged(charged(state, Usage(input_tokens=5, output_tokens=2), NOON), Usage(input_tokens=1), NOON)
    assert (spent.tokens, charged(spent, Usage(input_tokens=3), NOON + timedelta(days=1)).tokens) == (8, 3)


def test_configuration_stands_in_place_of_what_the_job_says() -> None:
    own = JobSettings(schedule="0 9 * * *", timezone="Europe/Berlin", turns=9, daily_tokens=100)
    found = configured_spec(spec(When(TurnsSince(2) & IdleFor(HOUR)), Cron("0 4 * * *")), own)
    assert [str(trigger) for trigger in found.triggers] == [
        "when (9 unread turns and idle for 1:00:00)",
        "cron 0 9 * * * Europe/Berlin",
    ]
    assert found.daily_tokens == 100


def test_foreseen_runs_are_those_that_would_be() -> None:
    turns = [NOON + HOUR * number for number in range(1, 6)]
    runs = list(foresee(spec(AtStartup(), When(TurnsSince(2)), Cron("30 14 * * *")), turns, NOON, NOON + 8 * HOUR))
    assert [(run.at, run.cause.trigger, run.unread) for run in runs] == [
        (NOON, "startup", 0),
        (NOON + 2 * HOUR, "state", 2),
        (NOON + 2.5 * HOUR, "schedule", 0),
        (NOON + 4 * HOUR, "state", 2),
    ]


def test_job_that_says_nothing_has_read_all_and_the_record_says_what_it_did() -> None:
    turn = Turn(id="t", session_id="s", number=7, started=NOON, finished=NOON, status="done", messages=())
    view, result = JobView(run_id="run", at=NOON, turns=(turn,), unread=1), JobResult()
    changes = (Change(path="a.md", before="1", after="2"), Change(path="b.md", before="1", after="2"))
    assert told(view, result, changes) == "read 1 turn, wrote a.md, b.md"
    assert told(view, JobResult(read=0), ()) == "read 0 turns"
    state = succeeded(spec(), JobState(), view, result, {})
    assert (state.cursor, state.seen) == (7, "0 unread")
