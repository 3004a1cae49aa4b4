"""Call the hooks: collect what plugins offer, and settle who fills each slot.

Every implementation is called by itself, so that what it raises is known to be its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar, cast

import pluggy
import structlog

from .errors import ConfigError, PluginError, StageConflictError
from .types.plugins import Choice

log = structlog.get_logger(__name__)
T = TypeVar("T")
R = TypeVar("R")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what chat completion servers take as a tool's name


@dataclass(frozen=True, slots=True)
class Offer(Generic[T]):
    """One object and the plugin that offers it."""

    plugin: str
    item: T


@dataclass(frozen=True, slots=True)
class Clash:
    """An object that was left out because another one of its name stays, or because neither may."""

    plugin: str
    reason: str


def collect(manager: pluggy.PluginManager, hook: str, port: type[T], **collaborators: object) -> tuple[Offer[T], ...]:
    """Call a plural hook plugin by plugin and return what each offers, in pluggy's order.

    Raises:
        PluginError: an implementation raised, or offered something that is not a `port`.
    """
    offers: list[Offer[T]] = []
    for implementation in _implementations(manager, hook):
        plugin, items = implementation.plugin_name, _call(implementation, hook, collaborators)
        if not isinstance(items, Iterable):
            raise PluginError(plugin, f"`{hook}` gave {type(items).__name__}, expected a list of {port.__name__}")
        found: list[object] = _guarded(plugin, hook, partial(list, items))
        offers += [Offer(plugin, _checked(item, port, plugin, hook)) for item in found]
    return tuple(offers)


def by_name(
    offers: Sequence[Offer[T]],
    kind: str,
    name_of: Callable[[T], str],
    shipped: frozenset[str],
    prefer: Mapping[str, str],
) -> tuple[dict[str, T], tuple[Clash, ...]]:
    """Index offers by name.

    Where a name is offered twice, the plugin that `prefer["kind:name"]` names wins, else a shipped one; of
    strangers alone none stays.

    Raises:
        PluginError: an object has no usable name.
    """
    grouped: dict[str, list[Offer[T]]] = {}
    for offer in offers:
        grouped.setdefault(_name(offer, kind, name_of), []).append(offer)
    index: dict[str, T] = {}
    clashes: list[Clash] = []
    for name, group in grouped.items():
        winner = _winner(group, f"{kind}:{name}", shipped, prefer)
        if winner is not None:
            index[name] = winner.item
        clashes += [
            Clash(offer.plugin, _clash(kind, name, offer, winner, group)) for offer in group if offer is not winner
        ]
    return index, tuple(clashes)


def select(
    manager: pluggy.PluginManager, stage: str, port: type[T], wanted: str | None, **collaborators: object
) -> tuple[tuple[T, ...], Choice]:
    """Fill one slot: the last of the returned objects is the occupant, those before it are what it wraps.

    The configured plugin wins; otherwise pluggy's order decides (`tryfirst`, plain, `trylast`) and a tie between the
    two best is an error. Wrappers of every plugin apply to whoever wins.

    Raises:
        ConfigError: `wanted` does not provide the stage, or nothing does.
        StageConflictError: the two best claims have equal rank.
        PluginError: the winner or a wrapper raised, or gave something that is not a `port`.
    """
    hook = f"bumble_{stage}"
    found = _implementations(manager, hook)
    claims = [implementation for implementation in found if not implementation.wrapper]
    wrappers = [implementation for implementation in found if implementation.wrapper]
    winner, reason = _claim(stage, claims, wanted)
    layers = _wrapped(winner, wrappers, hook, collaborators, port)
    choice = Choice(
        stage=stage,
        plugin=winner.plugin_name,
        reason=reason,
        passed_over=tuple(claim.plugin_name for claim in claims if claim is not winner),
        wrapped_by=tuple(wrapper.plugin_name for wrapper in reversed(wrappers)),
    )
    log.debug("stage.selected", stage=stage, plugin=choice.plugin, reason=reason, wrapped_by=choice.wrapped_by)
    return layers, choice


def _implementations(manager: pluggy.PluginManager, hook: str) -> list[pluggy.HookImpl]:
    caller: pluggy.HookCaller = getattr(manager.hook, hook)
    return list(reversed(caller.get_hookimpls()))


def _claim(stage: str, claims: list[pluggy.HookImpl], wanted: str | None) -> tuple[pluggy.HookImpl, str]:
    names = [claim.plugin_name for claim in claims]
    if wanted is not None:
        if wanted not in names:
            raise ConfigError(
                f"stages.{stage}: `{wanted}` does not provide it; available: {', '.join(names) or 'none'}"
            )
        return claims[names.index(wanted)], f"configured with stages.{stage}"
    if not claims:
        raise ConfigError(f"stages.{stage}: no plugin provides it; enable or install one")
    if len(claims) > 1 and _rank(claims[0]) == _rank(claims[1]):
        raise StageConflictError(stage, tuple(sorted(names[:2])))
    reasons = {0: "claims to be first", 1: "replaces the default", 2: "default"}
    return claims[0], reasons[_rank(claims[0])]


def _wrapped(
    winner: pluggy.HookImpl,
    wrappers: Sequence[pluggy.HookImpl],
    hook: str,
    collaborators: Mapping[str, object],
    port: type[T],
) -> tuple[T, ...]:
    """Return the winner's object and then what each wrapper makes of it; the last one fills the slot."""
    entered: list[tuple[pluggy.HookImpl, Generator[None, object, object]]] = []
    for wrapper in wrappers:
        generator = cast("Generator[None, object, object]", _call(wrapper, hook, collaborators))
        _guarded(wrapper.plugin_name, hook, partial(next, generator))
        entered.append((wrapper, generator))
    occupant = _checked(_call(winner, hook, collaborators), port, winner.plugin_name, hook)
    layers = [occupant]
    for wrapper, generator in reversed(entered):
        given = _guarded(wrapper.plugin_name, hook, partial(_sent, generator, occupant))
        occupant = _checked(given, port, wrapper.plugin_name, hook)
        layers.append(occupant)
    return tuple(layers)


def _sent(generator: Generator[None, object, object], occupant: object) -> object:
    try:
        generator.send(occupant)
    except StopIteration as stop:
        return stop.value
    raise RuntimeError("a wrapper yields exactly once")


def _call(implementation: pluggy.HookImpl, hook: str, collaborators: Mapping[str, object]) -> object:
    arguments = [collaborators[name] for name in implementation.argnames]
    return _guarded(implementation.plugin_name, hook, partial(implementation.function, *arguments))


def _guarded(plugin: str, hook: str, call: Callable[[], R]) -> R:
    try:
        return call()
    except (Exception, SystemExit) as error:
        raise PluginError(plugin, f"`{hook}` raised {type(error).__name__}: {error}") from error


def _checked(item: object, port: type[T], plugin: str, hook: str) -> T:
    if not _guarded(plugin, hook, lambda: isinstance(item, port)):  # the check reads the item's properties
        raise PluginError(
            plugin,
            f"`{hook}` gave {type(item).__name__}, which is not a {port.__name__}",
            f"give it what `{port.__name__}` in bumble_core.ports asks for",
        )
    return cast("T", item)


def _name(offer: Offer[T], kind: str, name_of: Callable[[T], str]) -> str:
    name: object = _guarded(offer.plugin, f"bumble_{kind}s", partial(name_of, offer.item))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise PluginError(
            offer.plugin,
            f"{kind} {name!r}: not a name",
            "a name has 1 to 64 letters, digits, `_` or `-`",
        )
    return name


def _winner(group: Sequence[Offer[T]], key: str, shipped: frozenset[str], prefer: Mapping[str, str]) -> Offer[T] | None:
    if len(group) == 1:
        return group[0]
    preferred = [offer for offer in group if offer.plugin == prefer.get(key)]
    own = [offer for offer in group if offer.plugin in shipped]
    return next(iter(preferred or own), None)


def _clash(kind: str, name: str, offer: Offer[T], winner: Offer[T] | None, group: Sequence[Offer[T]]) -> str:
    if winner is not None:
        return f"{kind} `{name}` left out: `{winner.plugin}` has one of this name"
    others = ", ".join(f"`{other.plugin}`" for other in group if other is not offer) or "the plugin itself"
    return f"{kind} `{name}` left out: {others} offers one of this name too"


def _rank(implementation: pluggy.HookImpl) -> int:
    return 0 if implementation.tryfirst else 2 if implementation.trylast else 1
