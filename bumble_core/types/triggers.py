"""When a job is to run, as data: at a start, at moments of a schedule, or when a condition holds.

    triggers = (AtStartup(), Cron("0 4 * * *", "Europe/Berlin"), When(TurnsSince(6) & IdleFor(timedelta(minutes=5))))

A plugin adds a condition by writing a subclass of `Condition`; it is pure: all that it knows is its `Situation`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from typing_extensions import override

from .documents import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known when a job's conditions are asked.

    `unread` counts the turns after the job's cursor; `last_turn` is when the newest turn of the home ended, None
    before the first. `documents` are those that the conditions name; `note` is what the job's last run left to itself.
    """

    at: datetime
    unread: int = 0
    last_turn: datetime | None = None
    documents: Mapping[str, Document]
    note: str = ""


class Condition(ABC):
    """Something that holds or does not; `&` and `|` combine two. Written as a frozen dataclass."""

    __slots__ = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The documents to be put into the situation; a path that ends in `/` stands for all below it."""
        return ()

    @abstractmethod
    def reason(self, now: Situation) -> str:
        """Return why it holds, for the record of the run; empty where it does not hold."""

    def moment(self, now: Situation) -> datetime | None:
        """Return when it may come to hold although nothing happens but time; None: never."""
        return None

    def __and__(self, other: Condition) -> Condition:
        return Both(self, other)

    def __or__(self, other: Condition) -> Condition:
        return Either(self, other)


@dataclass(frozen=True, slots=True)
class TurnsSince(Condition):
    """Holds when at least `count` turns lie after the job's cursor."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"TurnsSince({self.count}): at least 1")

    @override
    def reason(self, now: Situation) -> str:
        return f"{now.unread} turns unread, threshold {self.count}" if now.unread >= self.count else ""

    @override
    def __str__(self) -> str:
        return f"{self.count} unread turns"


@dataclass(frozen=True, slots=True)
class IdleFor(Condition):
    """Holds when the newest turn ended at least so long ago."""

    duration: timedelta

    @override
    def reason(self, now: Situation) -> str:
        due = self._due(now)
        return f"no turn for {self.duration}" if due is not None and now.at >= due else ""

    @override
    def moment(self, now: Situation) -> datetime | None:
        due = self._due(now)
        return due if due is not None and due > now.at else None

    def _due(self, now: Situation) -> datetime | None:
        return None if now.last_turn is None else now.last_turn + self.duration

    @override
    def __str__(self) -> str:
        return f"idle for {self.duration}"


@dataclass(frozen=True, slots=True)
class DocumentLargerThan(Condition):
    """Holds when a document of the memory has more characters than that."""

    path: str
    characters: int

    @property
    @override
    def reads(self) -> tuple[str, ...]:
        return (self.path,)

    @override
    def reason(self, now: Situation) -> str:
        size = len(now.documents[self.path].text) if self.path in now.documents else 0
        return f"`{self.path}` has {size:,} characters" if size > self.characters else ""

    @override
    def __str__(self) -> str:
        return f"`{self.path}` over {self.characters:,} characters"


@dataclass(frozen=True, slots=True)
class _Pair(Condition):
    """Two conditions that are looked at together."""

    first: Condition
    second: Condition

    @property
    @override
    def reads(self) -> tuple[str, ...]:
        return (*self.first.reads, *self.second.reads)

    @override
    def moment(self, now: Situation) -> datetime | None:
        return _earliest(self.first.moment(now), self.second.moment(now))


@dataclass(frozen=True, slots=True)
class Both(_Pair):
    """Holds while both conditions do."""

    @override
    def reason(self, now: Situation) -> str:
        reasons = [each.reason(now) for each in (self.first, self.second)]
        return " and ".join(reasons) if all(reasons) else ""

    @override
    def __str__(self) -> str:
        return f"({self.first} and {self.second})"


@dataclass(frozen=True, slots=True)
class Either(_Pair):
    """Holds while one condition does, or both."""

    @override
    def reason(self, now: Situation) -> str:
        return self.first.reason(now) or self.second.reason(now)

    @override
    def __str__(self) -> str:
        return f"({self.first} or {self.second})"


@dataclass(frozen=True, slots=True)
class AtStartup:
    """Fires once when a runtime starts."""

    @override
    def __str__(self) -> str:
        return "at startup"


@dataclass(frozen=True, slots=True)
class Cron:
    """Fires at each moment of a five-field cron expression, read on the clocks of `timezone`, an IANA name."""

    expression: str
    timezone: str = "UTC"

    @override
    def __str__(self) -> str:
        return f"cron {self.expression} {self.timezone}"


@dataclass(frozen=True, slots=True)
class When:
    """Fires while a condition holds."""

    condition: Condition

    @override
    def __str__(self) -> str:
        return f"when {self.condition}"


Trigger = AtStartup | Cron | When


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((each for each in moments if each is not None), default=None)
