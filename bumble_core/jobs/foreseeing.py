"""Work out when jobs would run, without running any. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..types.jobs import Cause, JobSpec, JobState, Situation
from .due import due, next_due, print_of, served


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """A run that would begin `at`; `unread` turns would wait for it."""

    at: datetime
    job: str
    cause: Cause
    unread: int


def foresee(spec: JobSpec, turns: Sequence[datetime], begin: datetime, end: datetime) -> Iterator[Foreseen]:
    """Yield the runs of one job from a start at `begin` on, where turns end at `turns`, in order.

    Runs take no time, succeed and read everything. Documents are taken to be empty: nobody knows what they will hold.
    """
    state = JobState(last_scheduled=begin)
    at, is_starting, done = begin, True, 0
    while at <= end:
        past = sum(turn <= at for turn in turns[done:]) + done
        last = turns[past - 1] if past else None
        now = Situation(at=at, unread=past - state.cursor, last_turn=last, documents={})
        cause = due(spec, state, now, is_starting=is_starting)
        if cause is not None:
            yield Foreseen(at=at, job=spec.id, cause=cause, unread=now.unread)
            slot = served(spec, state, at)
            state = JobState(cursor=past, last_scheduled=slot, seen=print_of(now, read=now.unread))
            now = Situation(at=at, unread=0, last_turn=last, documents={})
        is_starting, done = False, past
        coming = [next_due(spec, state, now), turns[past] if past < len(turns) else None]
        at = min((moment for moment in coming if moment is not None and moment > at), default=None) or _after(end)


def _after(end: datetime) -> datetime:
    return datetime.max.replace(tzinfo=end.tzinfo)
