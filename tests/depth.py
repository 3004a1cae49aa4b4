"""How far the tests of this run look: `BUMBLE_DEEP=1` means many more examples, as `tox -e deep` sets."""

from __future__ import annotations

import os

import hypothesis

IS_DEEP = os.environ.get("BUMBLE_DEEP", "") == "1"


def examples(ordinary: int, deep: int) -> int:
    """Return how many examples a test takes in this run."""
    return deep if IS_DEEP else ordinary


def load_hypothesis_profile() -> None:
    """Let properties that name no number of their own take twenty times as many examples in a deep run."""
    hypothesis.settings.register_profile("deep", max_examples=2_000, deadline=None)
    if IS_DEEP:
        hypothesis.settings.load_profile("deep")
