"""`bumble doctor`: check that everything works, and say what mends it."""

from __future__ import annotations

import asyncio

import click

from ..errors import BumbleError
from ..runtime import Runtime
from . import exit_codes
from .assembled import runtime_of
from .checks import (
    Check,
    check_disk,
    check_home,
    check_models,
    check_plugins,
    check_providers,
    check_python,
    check_sessions,
    check_sqlite,
    check_stages,
)
from .entry import configuration
from .listing import list_models
from .options import Common, common_options
from .output import print_json, print_rows

_COLUMNS = ("check", "state", "result", "remedy")


@click.command()
@common_options("config", "home", "json")
def doctor(common: Common) -> int:
    """Check that everything works, and say what mends it.

    A note is something that works without it. The exit status is 3 when something is broken.
    """
    checks = [check_python(), check_sqlite(), *_checks(common)]
    if common.as_json:
        print_json([check.model_dump() for check in checks])
    else:
        print_rows(_COLUMNS, [(check.name, check.state, check.result, check.remedy) for check in checks])
    return exit_codes.BROKEN if any(check.state == "broken" for check in checks) else exit_codes.FINE


def _checks(common: Common) -> list[Check]:
    try:
        settings = configuration(common)
    except BumbleError as error:
        return [_broken("configuration", error, "correct it; `bumble config check` shows every problem")]
    found = Check(name="configuration", state="fine", result=str(settings.source or "no file; the defaults are used"))
    try:
        runtime = runtime_of(settings, common, run_jobs=False)
    except BumbleError as error:
        return [found, _broken("assembly", error, "correct the configuration, or uninstall what is in the way")]
    home = check_home(runtime)
    return [
        found,
        home,
        check_disk(runtime.home),
        *check_plugins(runtime.reports),
        check_stages(runtime),
        *asyncio.run(_ask(runtime, keeps=home.state == "fine" and runtime.home.exists())),
    ]


async def _ask(runtime: Runtime, *, keeps: bool) -> list[Check]:
    """Ask the providers, and with `keeps` the home's sessions: to look into a home that is not there would make it."""
    try:
        kept = [await check_sessions(runtime)] if keeps else []
        listing = await list_models(runtime.providers)
    finally:
        await runtime.aclose()
    chosen = runtime.choices.chosen("interactive")
    return [*kept, *check_providers(listing, runtime.settings, chosen), *check_models(listing, runtime)]


def _broken(name: str, error: BumbleError, remedy: str) -> Check:
    return Check(name=name, state="broken", result=str(error), remedy=remedy)
