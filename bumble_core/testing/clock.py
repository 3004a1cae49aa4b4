"""A clock that moves only when somebody sleeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class StillClock:
    """Sleeping takes no time here; `slept` keeps how long each sleep was meant to be."""

    def __init__(self, at: str = "2026-03-01T12:00:00") -> None:
        self._began = datetime.fromisoformat(at).replace(tzinfo=UTC)
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return sum(self.slept)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
