"""Assemble a runtime. A plugin that fails is left out whole and assembly starts again without it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import structlog

from .builtin import CorePlugin
from .builtin.system import SystemClock, SystemFiles
from .discovery import CORE, Candidate, check_names, discover, report
from .errors import ConfigError, PluginError
from .home import default_home
from .parts import Parts
from .plugins import construct, load, missing_extra, offered_hooks, register, remedy_for
from .ports import Clock, Files
from .runtime import Runtime
from .types.plugins import PluginReport
from .types.settings import Settings
from .wiring import Given, Wiring

log = structlog.get_logger(__name__)


def assemble(
    settings: Settings,
    *,
    home: Path | None = None,
    plugins: Mapping[str, object] | None = None,
    discovers: bool = True,
    strict: bool = False,
    run_jobs: bool = True,
    clock: Clock | None = None,
    files: Files | None = None,
) -> Runtime:
    """Build a runtime from the installed plugins and, for applications and tests, from `plugins` by name.

    Nothing is written and nothing is connected until the first turn. An application's plugin takes the place of an
    installed one of its name. `discovers=False` uses only `plugins` and the kernel's own defaults. `strict` makes any
    problem of a plugin fatal.

    Raises:
        ConfigError: the configuration names something that does not exist.
        StageConflictError: two plugins claim one slot and nothing settles it.
        PluginError: a plugin of the application's own failed, or `strict` and any did.
    """
    _quiet_unless_configured()
    given = Given(
        settings=settings,
        home=(home or settings.home or default_home(settings.agent.name)).expanduser(),
        clock=clock or SystemClock(),
        files=files or SystemFiles(),
    )
    found, duplicates = discover() if discovers else ((), ())
    own = [
        Candidate(name=name, distribution="the application", version="", instance=instance)
        for name, instance in (plugins or {}).items()
    ]
    candidates = (*(c for c in found if c.name not in (plugins or {})), *own)
    if CORE in (plugins or {}):
        raise PluginError(CORE, "the name is the kernel's own", "give the plugin another name")
    check_names([*(each.name for each in candidates), *(each.name for each in duplicates)], settings)
    parts, reports = _built(given, candidates)
    ordered = tuple(sorted((*reports, *duplicates), key=lambda r: (r.name, r.distribution)))
    if strict and (problems := [r for r in ordered if r.reason and r.state in ("loaded", "failed")]):
        lines = [f"{r.distribution}, entry point `{r.name}`: {r.reason}" for r in problems]
        raise PluginError(problems[0].name, "\n".join(lines), "without --strict they are left out")
    return Runtime(replace(parts, reports=ordered), run_jobs=run_jobs)


def _quiet_unless_configured() -> None:
    """Until the application configures structlog, warnings go to standard error and the rest nowhere."""
    if not structlog.is_configured():
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # looked up anew: it may be replaced
        )


def _built(given: Given, candidates: tuple[Candidate, ...]) -> tuple[Parts, list[PluginReport]]:
    reports: list[PluginReport] = []
    loaded: dict[str, tuple[Candidate, object]] = {}
    for candidate in candidates:
        if candidate.name in given.settings.plugins.disabled:
            reason = "named under plugins.disabled"
            reports.append(report(candidate, "disabled", reason=reason, remedy="take it out of plugins.disabled"))
            continue
        try:
            loaded[candidate.name] = (candidate, load(candidate))
        except PluginError as error:
            reports.append(_left_out(candidate, error, given.settings))
    while True:
        try:
            parts, offered = _attempt(given, loaded)
        except PluginError as error:
            if error.plugin not in loaded:
                raise
            candidate, _ = loaded.pop(error.plugin)
            reports.append(_left_out(candidate, error, given.settings))
        except ConfigError as error:
            missed = [f"{each.name}: {each.reason}" for each in reports if each.state == "failed"]
            if not missed:
                raise
            raise ConfigError(f"{error}; left out were {'; '.join(missed)}") from error
        else:
            return parts, [*reports, *offered]


def _attempt(given: Given, loaded: Mapping[str, tuple[Candidate, object]]) -> tuple[Parts, list[PluginReport]]:
    instances: dict[str, object] = {CORE: CorePlugin()}
    for name, (candidate, plugin) in loaded.items():
        instances[name] = construct(candidate, plugin, given.settings.plugins.sections.get(name, {}))
    shipped = frozenset({CORE, *(name for name, (candidate, _) in loaded.items() if candidate.is_shipped)})
    wiring = Wiring(register(instances), shipped, given)
    parts = wiring.parts()
    reports: list[PluginReport] = []
    for name, (candidate, _) in loaded.items():
        reason = "; ".join(clash.reason for clash in wiring.clashes if clash.plugin == name)
        remedy = "choose with `prefer: {KIND:NAME: PLUGIN}`" if reason else ""
        offers = offered_hooks(wiring.manager, instances[name])
        reports.append(report(candidate, "loaded", offers=offers, reason=reason, remedy=remedy))
    return parts, reports


def _left_out(candidate: Candidate, error: PluginError, settings: Settings) -> PluginReport:
    """Report a plugin that failed; one that the configuration or the application names is an error instead."""
    if candidate.instance is not None:
        raise error
    for stage, name in settings.stages:
        if name == candidate.name:
            raise ConfigError(f"stages.{stage}: {error}") from error
    cause = error.__cause__
    if isinstance(cause, ModuleNotFoundError) and missing_extra(cause, candidate):
        log.debug("plugin.left_out", plugin=candidate.name, module=cause.name)
        reason = f"it needs `{cause.name}`, which is not installed"
        return report(candidate, "missing", reason=reason, remedy=remedy_for(cause, candidate))
    log.warning("plugin.left_out", plugin=candidate.name, distribution=candidate.distribution, reason=error.reason)
    return report(candidate, "failed", reason=error.reason, remedy=_remedy(error, candidate))


def _remedy(error: PluginError, candidate: Candidate) -> str:
    if error.remedy:
        return error.remedy
    if isinstance(error.__cause__, ModuleNotFoundError):
        return remedy_for(error.__cause__, candidate)
    return f"report it to the authors of {candidate.distribution}, or disable `{candidate.name}`"
