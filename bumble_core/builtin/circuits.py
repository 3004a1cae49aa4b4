"""Leave a failing model alone for a while, and try it again by itself.

One circuit per model, in this process. Closed, it lets requests through. It opens after failures in a row that asking
again does not mend, and the model is passed over for a pause that doubles from opening to opening. When the pause is
over one request is let through; its success closes the circuit, its failure opens it for longer.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..errors import AuthenticationError, ContextOverflow, Filtered, InferenceError, InvalidRequest, RateLimited
from ..ports import Clock
from ..types.inference import ModelRef

_FAILURES = 3  # in a row
_SHORTEST_S, _LONGEST_S = 30.0, 600.0
_JITTER = 0.2  # share by which a pause is shortened at random, so that many processes do not come back together
_OF_THE_REQUEST = (ContextOverflow, Filtered, InvalidRequest)  # another request may well be answered


@dataclass(slots=True)
class Circuit:
    """The state of one model. A pause counts on `clock.monotonic`."""

    clock: Clock
    chance: Callable[[], float]
    failures: int = 0
    openings: int = 0
    until: float = 0.0
    last: str = ""
    is_tried: bool = False

    @property
    def left_s(self) -> float:
        """Seconds until a request is let through; 0 when one may be asked now."""
        return max(0.0, self.until - self.clock.monotonic())

    @property
    def obstacle(self) -> str | None:
        """Why the model is passed over; None when it is not."""
        if self.openings and self.left_s > 0:
            return f"passed over for {self.left_s:.0f} s more after {self.failures} failures; the last: {self.last}"
        if self.openings and self.is_tried:
            return f"passed over while another request tries it; it failed {self.failures} times, the last: {self.last}"
        return None

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Be the one request that an open circuit lets through, until it is known how it ended."""
        was_tried, self.is_tried = self.is_tried, True
        try:
            yield
        finally:
            self.is_tried = was_tried

    def succeeded(self) -> None:
        self.failures, self.openings, self.until, self.last = 0, 0, 0.0, ""

    def failed(self, error: InferenceError) -> None:
        """Count a failure of the model; one that is the request's own counts as an answer."""
        if isinstance(error, _OF_THE_REQUEST):
            self.succeeded()
            return
        is_open = self.openings > 0 and self.left_s > 0  # it was asked because all others are open too
        self.failures += 1
        self.last = str(error)
        asked_s = error.retry_after_s if isinstance(error, RateLimited) else None
        if isinstance(error, AuthenticationError):
            self._open(_LONGEST_S)  # a person mends a key, in minutes at best
        elif asked_s:
            self._open(min(asked_s, _LONGEST_S), exactly=True)
        elif not is_open and (self.openings or self.failures >= _FAILURES):
            self._open(min(_SHORTEST_S * 2.0**self.openings, _LONGEST_S))

    def _open(self, pause_s: float, *, exactly: bool = False) -> None:
        self.openings = min(self.openings + 1, 30)
        shortened = pause_s if exactly else pause_s * (1 - _JITTER * self.chance())
        self.until = self.clock.monotonic() + shortened


@dataclass(slots=True)
class Circuits:
    """The circuits of all models; `chance` gives numbers between 0 and 1."""

    clock: Clock
    chance: Callable[[], float] = random.random
    _of: dict[ModelRef, Circuit] = field(default_factory=dict)

    def of(self, model: ModelRef) -> Circuit:
        if model not in self._of:
            self._of[model] = Circuit(self.clock, self.chance)
        return self._of[model]
