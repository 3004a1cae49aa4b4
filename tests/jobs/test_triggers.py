"""Conditions hold or do not, combine, and say when time alone may make them hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from bumble_core.jobs.due import due
from bumble_core.types.documents import Document
from bumble_core.types.jobs import (
    Condition,
    Cron,
    DocumentLargerThan,
    IdleFor,
    JobSpec,
    JobState,
    Situation,
    TurnsSince,
    When,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def situation(unread: int = 0, last_turn: datetime | None = None, note: str = "", **texts: str) -> Situation:
    documents = {f"{name}.md": Document(path=f"{name}.md", text=text, version="1") for name, text in texts.items()}
    return Situation(at=NOON, unread=unread, last_turn=last_turn, documents=documents, note=note)


@pytest.mark.parametrize(
    ("condition", "now", "holds"),
    [
        (TurnsSince(6), situation(5), False),
        (TurnsSince(6), situation(6), True),
        (IdleFor(HOUR), situation(), False),
        (IdleFor(HOUR), situation(last_turn=NOON - HOUR / 2), False),
        (IdleFor(HOUR), situation(last_turn=NOON - HOUR), True),
        (DocumentLargerThan("a.md", 2), situation(a="ab"), False),
        (DocumentLargerThan("a.md", 2), situation(a="abc"), True),
        (DocumentLargerThan("a.md", 2), situation(), False),
        (TurnsSince(1) & IdleFor(HOUR), situation(1, NOON), False),
        (TurnsSince(1) & IdleFor(HOUR), situation(1, NOON - HOUR), True),
        (TurnsSince(9) | IdleFor(HOUR), situation(1, NOON - HOUR), True),
        (TurnsSince(9) | IdleFor(HOUR), situation(1, NOON), False),
    ],
    ids=str,
)
def test_condition_holds_when_it_should(condition: Condition, now: Situation, holds: bool) -> None:
    assert bool(condition.reason(now)) is holds


def test_two_conditions_give_both_reasons() -> None:
    found = (TurnsSince(1) & IdleFor(HOUR)).reason(situation(3, NOON - HOUR))
    assert found == "3 turns unread, threshold 1 and no turn for 1:00:00"


def test_condition_tells_when_time_alone_makes_it_hold() -> None:
    now = situation(1, NOON - HOUR / 2)
    assert (IdleFor(HOUR) & TurnsSince(1)).moment(now) == NOON + HOUR / 2
    assert TurnsSince(5).moment(now) is None


def test_combined_conditions_read_what_their_parts_read() -> None:
    condition = DocumentLargerThan("a.md", 1) & TurnsSince(1) | DocumentLargerThan("b/", 1)
    assert condition.reads == ("a.md", "b/")


@dataclass(frozen=True)
class Changed(Condition):
    """A plugin's own: holds when a document is not as the last run left it."""

    path: str

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.path,)

    def reason(self, now: Situation) -> str:
        return "" if now.documents[self.path].text == now.note else f"`{self.path}` changed"


def test_condition_of_a_plugin_combines_with_ours_and_is_a_trigger() -> None:
    spec = JobSpec(id="own", summary="", triggers=(When(Changed("a.md") & TurnsSince(1)),))
    cause = due(spec, JobState(), situation(1, a="new", note="old"))
    assert cause is not None
    assert (cause.trigger, cause.reason) == ("state", "`a.md` changed and 1 turns unread, threshold 1")


def test_trigger_reads_as_words() -> None:
    texts = [str(When(TurnsSince(6) & IdleFor(HOUR))), str(Cron("0 4 * * *", "Europe/Berlin"))]
    assert texts == ["when (6 unread turns and idle for 1:00:00)", "cron 0 4 * * * Europe/Berlin"]
