"""How far the tests of this run look: `BUMBLE_DEEP=1` means many more examples, as `tox -e deep` sets."""

from __future__ import annotations

import os

import hypothesis

IS_DEEP = os.environ.get("BUMBLE_DEEP", "") == "1"


def examples(ordinary: int, deep: int) -> int:
    """Return how many examples a test takes in this run."""
    return deep if IS_DEEP else ordinary


def load_hypothesis_profile() -> None:
    """Let properties that name no number of their own take many more examples in a deep run.

    No example has a deadline: a busy machine is no failure.
    """
    hypothesis.settings.register_profile("ordinary", deadline=None)
    hypothesis.settings.register_profile("deep", deadline=None, max_examples=3_000)
    hypothesis.settings.load_profile("deep" if IS_DEEP else "ordinary")
