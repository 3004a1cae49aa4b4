"""What all tests share: coroutines are run, and `bumble` can be called as if it were installed."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest
from installed import Installed


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run an `async def` test to its end on an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """`bumble` with the shipped plugins and commands, in an empty home."""
    return Installed.at(tmp_path / "machine")
