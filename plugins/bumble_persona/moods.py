"""Tell a mood coarsely, so that a small change of it changes nothing."""

from __future__ import annotations

from collections import OrderedDict

MOOD = "mood"

_BORDERS = (1 / 3, 2 / 3)
_NAMES = ("low", "even", "high")
_SLACK = 0.05  # beyond a border before the mood counts as another one: it does not flicker there
_MOST_SESSIONS = 256


class Moods:
    """The mood of each session in one word: `low`, `even`, `high`; nothing where none is sensed."""

    def __init__(self) -> None:
        self._now: OrderedDict[str, int] = OrderedDict()

    def of(self, session: str, value: float | None) -> str:
        if value is None:
            return ""
        before = self._now.get(session)
        now = _bucket(value) if before is None or _has_left(before, value) else before
        self._now[session] = now
        self._now.move_to_end(session)
        if len(self._now) > _MOST_SESSIONS:
            self._now.popitem(last=False)
        return _NAMES[now]


def _bucket(value: float) -> int:
    return sum(value > border for border in _BORDERS)


def _has_left(bucket: int, value: float) -> bool:
    low = _BORDERS[bucket - 1] if bucket else float("-inf")
    high = _BORDERS[bucket] if bucket < len(_BORDERS) else float("inf")
    return not low - _SLACK <= value <= high + _SLACK
