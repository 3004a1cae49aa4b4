"""Choose how a turn is answered: what is sensed, who decides, and what follows when a reply does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from .contract import FAULTS, kept
from .errors import ContractError
from .ports import Router, SignalSource
from .types.inference import Profile
from .types.settings import Settings
from .types.turn import Route, TurnContext, TurnInput

log = structlog.get_logger(__name__)


async def routed(turn: TurnContext, router: Router, signals: Sequence[SignalSource], settings: Settings) -> TurnContext:
    """Return the turn with what was sensed and the router's choice; what fails is left out."""
    input = turn.input.model_copy(update={"signals": await _sensed(turn.input, signals)})
    try:
        route = kept(await router.route(input), Route, "the router")
        if not route.models:
            raise ContractError("the router gave a route without a model")
    except FAULTS as error:
        log.warning("router.failed", router=type(router).__name__, error=repr(error))
        route = default_route(input, settings, f"the router failed: {error}")
    return replace(turn, input=input, route=route)


def default_route(input: TurnInput, settings: Settings, reason: str = "no router was asked") -> Route:
    """Return the route that is taken when no router decides: deliberate."""
    return Route(profile=_deliberate(settings), models=input.models, decided_by="forced", reason=reason)


def escalated(turn: TurnContext, settings: Settings) -> TurnContext:
    """Return the turn with the deliberate profile, once, when its own allows only shorter replies and falls short."""
    longer, route = _deliberate(settings), turn.route
    if route.escalated_from or route.profile.max_tokens >= longer.max_tokens or not (cause := _shortfall(turn)):
        return turn
    changes = {"profile": longer, "escalated_from": route.profile.name, "escalated_because": cause}
    return replace(turn, route=route.model_copy(update=changes))


def _shortfall(turn: TurnContext) -> str:
    """Say why a short reply is not enough: it was cut, there is work to do, or the judge sent the turn back."""
    if turn.cuts:
        return "a reply was cut"
    work = [result.name for result in turn.last_results if result.is_work] if turn.has_called else []
    if work:
        return f"the model called `{work[0]}`"
    is_refused = bool(turn.verdicts) and not turn.verdicts[-1].done and turn.verdicts[-1].on != "say"
    return "the judge sent the turn back" if is_refused else ""


async def _sensed(input: TurnInput, sources: Sequence[SignalSource]) -> dict[str, float]:
    signals: dict[str, float] = {}
    for source in sources:
        try:
            for name, value in (await source.read(input)).items():
                signals[name] = max(value, signals.get(name, value))
        except FAULTS as error:
            log.warning("signal.failed", source=type(source).__name__, error=repr(error))
    return signals


def _deliberate(settings: Settings) -> Profile:
    cognition = settings.cognition
    return Profile(
        name="deliberate",
        max_tokens=cognition.deliberate_max_tokens,
        thinking=True,
        temperature=cognition.temperature,
    )
