"""Load plugins, construct them with their section of the configuration, and register them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

import pluggy
import structlog
from pydantic import ValidationError

from . import hookspecs
from .discovery import Candidate
from .errors import PluginError
from .types.settings import PluginConfig

log = structlog.get_logger(__name__)


def load(candidate: Candidate) -> object:
    """Import the plugin's class, or return the application's object.

    Raises:
        PluginError: the import failed; the remedy names the extra that is missing, when it is one.
    """
    if candidate.point is None:
        return candidate.instance
    try:
        return candidate.point.load()
    except (Exception, SystemExit) as error:
        raise PluginError(
            candidate.name, f"import failed: {type(error).__name__}: {error}", remedy_for(error, candidate)
        ) from error


def construct(candidate: Candidate, loaded: object, section: Mapping[str, object]) -> object:
    """Return the plugin's instance, made with its validated section of the configuration.

    Raises:
        PluginError: the section is wrong, or the constructor raised.
    """
    if candidate.point is None:
        return loaded
    name = candidate.name
    if not isinstance(loaded, type):
        raise PluginError(name, f"`{candidate.point.value}` is not a class", "point the entry point at a class")
    model = getattr(loaded, "Config", PluginConfig)
    if not (isinstance(model, type) and issubclass(model, PluginConfig)):
        raise PluginError(name, f"`{loaded.__name__}.Config` is not a PluginConfig", "derive it from PluginConfig")
    try:
        config = model.model_validate(section)
    except ValidationError as error:
        problems = "; ".join(_problem(name, dict(detail), model) for detail in error.errors())
        raise PluginError(name, problems, f"correct `plugins.{name}`") from error
    try:
        return loaded(config)
    except (Exception, SystemExit) as error:
        reason = f"its constructor raised {type(error).__name__}: {error}"
        has_init = any("__init__" in vars(each) for each in loaded.__mro__[:-1])
        remedy = remedy_for(error, candidate) if has_init else "give it `__init__(self, config)`"
        raise PluginError(name, reason, remedy) from error


def register(instances: Mapping[str, object]) -> pluggy.PluginManager:
    """Register the instances; the order of names never depends on the order of installation.

    Raises:
        PluginError: a hook or an argument does not exist, or a collected hook is wrapped.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    for name in sorted(instances, reverse=True):
        try:
            manager.register(instances[name], name)
        except pluggy.PluginValidationError as error:
            raise PluginError(name, " ".join(str(error).split()), "compare it with the hook reference") from error
        except (Exception, SystemExit) as error:
            raise PluginError(name, f"cannot be registered: {type(error).__name__}: {error}") from error
    for name, instance in instances.items():
        _check_hooks(manager, name, instance)
    return manager


def offered_hooks(manager: pluggy.PluginManager, instance: object) -> tuple[str, ...]:
    """Name what a registered plugin implements: `router`, `tools`, `wraps inference`."""
    found = [
        ("wraps " if implementation.wrapper else "") + hook.name.removeprefix("bumble_")
        for hook in manager.get_hookcallers(instance) or ()
        for implementation in hook.get_hookimpls()
        if implementation.plugin is instance
    ]
    return tuple(sorted(found))


def remedy_for(error: BaseException, candidate: Candidate) -> str:
    """Say what mends a plugin: the extra that brings a missing module, else an upgrade or leaving it out."""
    if extra := missing_extra(error, candidate):
        return f"pip install '{candidate.distribution}[{extra}]'"
    return f"pip install --upgrade {candidate.distribution}, or `plugins: {{disabled: [{candidate.name}]}}`"


def missing_extra(error: BaseException | None, candidate: Candidate) -> str | None:
    """Return the extra of the plugin's distribution that brings the module which `error` lacks, or None."""
    if not isinstance(error, ModuleNotFoundError) or not error.name or not candidate.point or not candidate.point.dist:
        return None
    extras = _extras_with(candidate.point.dist.requires or [], error.name.partition(".")[0])
    return candidate.name if candidate.name in extras else next(iter(extras), None)


def _check_hooks(manager: pluggy.PluginManager, name: str, instance: object) -> None:
    specs = [hook for hook in vars(hookspecs) if hook.startswith("bumble_")]
    callers = manager.get_hookcallers(instance) or ()
    for hook in callers:
        if hook.spec is None:
            near = difflib.get_close_matches(hook.name, specs, n=1)
            hint = f"did you mean `{near[0]}`?" if near else "see the hook reference"
            raise PluginError(name, f"there is no hook `{hook.name}`", hint)
        for implementation in (each for each in hook.get_hookimpls() if each.plugin is instance):
            collects = not hook.spec.opts.get("firstresult")
            if implementation.hookwrapper or (implementation.wrapper and collects):
                hint = "wrap the slot that uses it, with wrapper=True"
                raise PluginError(name, f"`{hook.name}` cannot be wrapped", hint)
    marked = {hook.name for hook in callers}
    if unmarked := sorted(each for each in specs if hasattr(type(instance), each) and each not in marked):
        raise PluginError(name, f"`{unmarked[0]}` is not marked as a hook", "write @hookimpl above it")


def _extras_with(requires: Sequence[str], module: str) -> list[str]:
    """Return the extras that require a distribution of the module's name (PEP 508 lines)."""
    found = []
    for line in requires:
        name = re.match(r"[A-Za-z0-9._-]+", line)
        extra = re.search(r"""extra\s*==\s*["']([^"']+)["']""", line)
        if name and extra and re.sub(r"[-_.]+", "_", name.group().lower()) == module.lower():
            found.append(extra.group(1))
    return found


def _problem(plugin: str, detail: Mapping[str, object], model: type[PluginConfig]) -> str:
    place = detail["loc"] if isinstance(detail["loc"], tuple) else ()
    where = ".".join(["plugins", plugin, *map(str, place)])
    if detail["type"] == "extra_forbidden" and place:
        close = difflib.get_close_matches(str(place[-1]), model.model_fields, n=1)
        return f"{where}: no such key" + (f"; did you mean `{close[0]}`?" if close else "")
    return f"{where}: {detail['msg']}"
