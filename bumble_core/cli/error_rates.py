"""How often a gate is wrong: counts of wrong verdicts, and how far they can be trusted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..types.turn import Verdict
from .labelled import LabelledTurn

_Z = 1.959963984540054  # of the standard normal distribution: 95 % lie within


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of how many."""

    count: int
    of: int

    @property
    def value(self) -> float | None:
        """The share, or None of nothing."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the bounds that hold the true share in 95 of 100 cases, after Wilson."""
        if not self.of:
            return None
        share, spread = self.count / self.of, _Z * _Z / self.of
        middle = (share + spread / 2) / (1 + spread)
        reach = math.sqrt(spread * (share * (1 - share) + spread / 4)) / (1 + spread)
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def as_dict(self) -> dict[str, object]:
        """Return what JSON shows of it."""
        return {"count": self.count, "of": self.of, "rate": self.value, "interval": self.interval}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a gate made of a labelled turn."""

    turn: LabelledTurn
    verdict: Verdict

    @property
    def is_right(self) -> bool:
        return self.verdict.done == self.turn.done


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The error rates of some turns, with those of two gates that need no thought.

    `accept_all` lets every turn end, so that its errors are the unfinished ones; `without_work` refuses all in which
    no tool did any work.
    """

    name: str
    turns: int
    false_accepts: Rate
    false_rejects: Rate
    accept_all: Rate
    without_work: Rate


def groups(judgements: Sequence[Judgement], name_of: Callable[[LabelledTurn], str]) -> tuple[Group, ...]:
    """Return the rates by name, in the order in which the names come."""
    names = dict.fromkeys(name_of(each.turn) for each in judgements)
    return tuple(group(name, [each for each in judgements if name_of(each.turn) == name]) for name in names)


def group(name: str, judgements: Sequence[Judgement]) -> Group:
    """Return the rates of all the judgements."""
    open_turns = [each for each in judgements if not each.turn.done]
    done_turns = [each for each in judgements if each.turn.done]
    return Group(
        name=name,
        turns=len(judgements),
        false_accepts=_rate(each.verdict.done for each in open_turns),
        false_rejects=_rate(not each.verdict.done for each in done_turns),
        accept_all=_rate(not each.turn.done for each in judgements),
        without_work=_rate(each.turn.has_worked != each.turn.done for each in judgements),
    )


def _rate(wrong: Iterable[bool]) -> Rate:
    found = list(wrong)
    return Rate(sum(found), len(found))
