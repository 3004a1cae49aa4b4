"""What a router's decisions on labelled messages come to, beside routers that need no thought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..types.settings import Cognition
from ..types.turn import Explanation, Route
from .labelled_messages import LabelledMessage

_CLASSIFIER_TOKENS = 8
_SHORT = 80  # characters; the length below which Bumblebee's page answers by reflex


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One labelled message and the route that it was given. `calls` are requests that the router made for it.

    `explanation` is what the router says of it without a model; None where it does not explain itself.
    """

    message: LabelledMessage
    route: Route
    calls: int = 0
    explanation: Explanation | None = None

    @property
    def is_right(self) -> bool:
        return self.route.profile.name == self.message.profile

    @property
    def has_its_label(self) -> bool:
        return self.route.label == self.message.label

    @property
    def needs_no_model(self) -> bool:
        """True when the router was certain by itself."""
        return self.explanation.is_certain if self.explanation else self.calls == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one group of messages; shares are between 0 and 1, None where there is nothing to count.

    `cost` is the longest reply that the routes allow, and the router's own, against always deliberating.
    """

    group: str
    messages: int
    accuracy: float | None
    label_accuracy: float | None
    reflex_recall: float | None
    deliberate_recall: float | None
    without_a_model: float | None
    cost: float | None


def figures(group: str, decisions: Sequence[Decision], cognition: Cognition) -> Figures:
    """Return the figures of one group."""
    always = len(decisions) * cognition.deliberate_max_tokens
    spent = sum(each.route.profile.max_tokens + each.calls * _CLASSIFIER_TOKENS for each in decisions)
    return Figures(
        group=group,
        messages=len(decisions),
        accuracy=_share(decisions, lambda each: each.is_right),
        label_accuracy=_share(decisions, lambda each: each.has_its_label),
        reflex_recall=_recall(decisions, "reflex"),
        deliberate_recall=_recall(decisions, "deliberate"),
        without_a_model=_share(decisions, lambda each: each.needs_no_model),
        cost=spent / always if always else None,
    )


def grouped(decisions: Sequence[Decision], key: Callable[[LabelledMessage], str]) -> dict[str, list[Decision]]:
    """Return the decisions by what `key` says of their messages, in the order of their first ones."""
    groups: dict[str, list[Decision]] = {}
    for each in decisions:
        groups.setdefault(key(each.message), []).append(each)
    return groups


def baselines(messages: Sequence[LabelledMessage], cognition: Cognition) -> tuple[Figures, ...]:
    """Return what routers come to that look at nothing, or at the length alone."""
    return (
        _baseline("always reflex", messages, cognition, lambda message: True),
        _baseline("always deliberate", messages, cognition, lambda message: False),
        _baseline(f"under {_SHORT} characters", messages, cognition, lambda message: len(message.text) < _SHORT),
    )


def _baseline(
    group: str, messages: Sequence[LabelledMessage], cognition: Cognition, is_reflex: Callable[[LabelledMessage], bool]
) -> Figures:
    chosen = [(message, "reflex" if is_reflex(message) else "deliberate") for message in messages]
    right = [(message, profile) for message, profile in chosen if profile == message.profile]
    limits = {"reflex": cognition.reflex_max_tokens, "deliberate": cognition.deliberate_max_tokens}
    wanted = {profile: sum(message.profile == profile for message in messages) for profile in limits}
    hit = {profile: sum(message.profile == profile for message, _ in right) for profile in limits}
    spent = sum(limits[profile] for _, profile in chosen)
    return Figures(
        group=group,
        messages=len(messages),
        accuracy=len(right) / len(messages),
        label_accuracy=None,
        reflex_recall=hit["reflex"] / wanted["reflex"] if wanted["reflex"] else None,
        deliberate_recall=hit["deliberate"] / wanted["deliberate"] if wanted["deliberate"] else None,
        without_a_model=1.0,
        cost=spent / (len(messages) * cognition.deliberate_max_tokens),
    )


def _share(decisions: Sequence[Decision], is_so: Callable[[Decision], bool]) -> float | None:
    return sum(map(is_so, decisions)) / len(decisions) if decisions else None


def _recall(decisions: Sequence[Decision], profile: str) -> float | None:
    return _share([each for each in decisions if each.message.profile == profile], lambda each: each.is_right)
