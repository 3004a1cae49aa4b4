"""How a command gets its configuration and its runtime."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from ..assembly import assemble
from ..configuration import Configuration
from ..runtime import Runtime
from .entry import configuration
from .options import Common

T = TypeVar("T")

_NONE: Mapping[str, object] = MappingProxyType({})


def assembled(common: Common, *, run_jobs: bool, plugins: Mapping[str, object] = _NONE) -> Runtime:
    """Return a runtime for the settings in force; nothing is written and nothing is connected yet.

    `plugins` are the command's own, by name.

    Raises:
        AssemblyError: the configuration is wrong, or with `--strict` a plugin has a problem.
    """
    return runtime_of(configuration(common), common, run_jobs=run_jobs, plugins=plugins)


def runtime_of(
    found: Configuration, common: Common, *, run_jobs: bool, plugins: Mapping[str, object] = _NONE
) -> Runtime:
    """Return a runtime for a configuration that has been read.

    Raises:
        AssemblyError: the configuration names what does not exist, or with `--strict` a plugin has a problem.
    """
    with contextlib.redirect_stdout(sys.stderr):  # what a plugin prints is not part of the command's output
        return assemble(found.settings, home=found.home, strict=common.strict, run_jobs=run_jobs, plugins=plugins)


def with_runtime(common: Common, work: Callable[[Runtime], Awaitable[T]]) -> T:
    """Do `work` with a runtime whose home is open and whose jobs do not run by themselves."""

    async def run() -> T:
        async with assembled(common, run_jobs=False) as runtime:
            return await work(runtime)

    return asyncio.run(run())
