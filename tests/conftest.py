"""Fixtures that every test may use. Coroutine tests run under `asyncio.run`."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from bumble_core import Runtime, Settings, assemble
from bumble_core.testing import Reply, ScriptedProvider
from tests.depth import load_hypothesis_profile
from tests.installed import CHECKOUT, Installed
from tests.shipped import construct_shipped


def pytest_configure() -> None:
    """Let processes that tests start find what the tests find, be interrupted, and look as far as this run should."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    load_hypothesis_profile()
    here = [str(CHECKOUT), str(CHECKOUT / "plugins"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(folder for folder in here if folder)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def _log_as_at_the_start() -> Iterator[None]:
    """Take back what a test, or an assembly in it, configured of the log."""
    yield
    structlog.reset_defaults()


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    """Build a configuration for a scripted model; keyword arguments replace sections."""

    def build(**sections: Any) -> Settings:
        base: dict[str, Any] = {"agent": {"models": ["scripted:model"]}, "home": tmp_path / "home"}
        base["gate"] = {"policy": "heuristics"}  # a test of the gate asks for its judge
        return Settings.model_validate({**base, **sections})

    return build


@pytest.fixture
def runtime(settings: Callable[..., Settings]) -> Callable[..., tuple[Runtime, ScriptedProvider]]:
    """Assemble a runtime of the shipped plugins whose model answers from the given replies."""

    def build(
        *replies: Reply,
        plugins: dict[str, object] | None = None,
        run_jobs: bool = False,
        system_may_change: bool = False,
        **sections: Any,
    ) -> tuple[Runtime, ScriptedProvider]:
        script = ScriptedProvider(replies, system_may_change=system_may_change, asides={})
        offered = {
            **construct_shipped("router", "judge", "compactor", "jobs", "talk"),
            "scripted": script,
            **(plugins or {}),
        }
        return assemble(settings(**sections), plugins=offered, discovers=False, run_jobs=run_jobs), script

    return build


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """`bumble` with the shipped plugins and commands, in an empty home."""
    return Installed.at(tmp_path / "machine")
