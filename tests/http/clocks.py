"""Where tests of this layer find the clock that moves only when somebody sleeps."""

from __future__ import annotations

from bumble_core.testing import StillClock

__all__ = ["StillClock"]
