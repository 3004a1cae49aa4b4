"""What the tests of storage share: a home, a clock, sessions that are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bumble_core.builtin.sessions import SqliteSessions
from tests.builtin.storage_support import WoundClock


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock()


@pytest.fixture
def sessions(tmp_path: Path, clock: WoundClock) -> Iterator[SqliteSessions]:
    store = SqliteSessions(tmp_path, clock)
    yield store
    asyncio.run(store.aclose())
