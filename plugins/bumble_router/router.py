"""Choose between a short answer at once and a long one with thought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import structlog

from bumble_core import InferenceError, Settings
from bumble_core.ports import Inference
from bumble_core.types.inference import ModelRef, Profile
from bumble_core.types.languages import LanguagePack
from bumble_core.types.turn import Explanation, Label, Route, TurnInput

from .classifier import Classifier
from .config import RouterConfig
from .evidence import Opinion, weigh
from .form import form_of
from .vocabulary import Vocabulary

log = structlog.get_logger(__name__)

_CLASSIFIER_CONFIDENCE = 0.8  # a guess: on the labelled messages a small model is right about that often


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What kind of answer a message wants, who decided and why; a label of None is thought about."""

    label: Label | None
    by: Literal["forced", "heuristic", "classifier"]
    reason: str
    confidence: float


class EvidenceRouter:
    """Forced rules first, then what the message looks like and says; a model is asked only where that is not certain.

    Where nobody can say, the turn takes thought: a wrong reflex is a bad answer, a wrong deliberation costs time.
    """

    def __init__(
        self,
        own: RouterConfig,
        classifier: Classifier | None,
        languages: tuple[LanguagePack, ...],
        settings: Settings,
    ) -> None:
        self._own, self._classifier, self._settings = own, classifier, settings
        self._vocabulary = Vocabulary(languages)

    async def route(self, input: TurnInput) -> Route:
        decided = await self._decide(input)
        return Route(
            profile=self._profile(decided.label),
            models=input.models,
            decided_by=decided.by,
            reason=decided.reason,
            confidence=round(decided.confidence, 3),
            label=decided.label,
            grounded=decided.label in ("GROUNDED", "EXACT"),
        )

    async def _decide(self, input: TurnInput) -> Decided:
        """Return what kind of answer the message wants."""
        if (rule := self._forced(input)) is not None:
            return Decided(label=None, by="forced", reason=rule, confidence=1)
        opinion = self.opinion(input)
        label, sure = opinion.label, opinion.confidence
        if sure >= self._own.certain_from or (self._classifier is None and sure >= self._own.leaning_from):
            return Decided(label=label, by="heuristic", reason=_reason(opinion), confidence=sure)
        if self._classifier is None:
            return Decided(label=None, by="heuristic", reason=f"not certain: {_reason(opinion)}", confidence=sure)
        try:
            label = await self._classifier.label(input)
        except InferenceError as error:
            log.info("classifier.failed", error=repr(error))
            return Decided(label=None, by="heuristic", reason="not certain, and the classifier failed", confidence=sure)
        reason = f"a model calls it {label}"
        return Decided(label=label, by="classifier", reason=reason, confidence=_CLASSIFIER_CONFIDENCE)

    def _forced(self, input: TurnInput) -> str | None:
        """Return the rule that decides whatever the message says, if there is one."""
        if self._settings.agent.always_deliberate:
            return "agent.always_deliberate is set"
        return None if input.origin == "user" else f"the input comes from {input.origin}"

    def explain(self, input: TurnInput) -> Explanation:
        opinion = self.opinion(input)
        is_certain = opinion.confidence >= self._own.certain_from
        shares = {label: round(share, 3) for label, share in opinion.shares.items()}
        return Explanation(signs=opinion.signs, shares=shares, is_certain=is_certain or self._forced(input) is not None)

    def opinion(self, input: TurnInput) -> Opinion:
        """Return what the message's form and words say, without asking anybody."""
        form = form_of(input)
        words = self._vocabulary.read(form.clauses)
        return weigh(form, words, short=self._own.reflex_below_chars, calm=self._own.reflex_below_intensity)

    def _profile(self, label: Label | None) -> Profile:
        cognition = self._settings.cognition
        if label == "CHAT":
            return Profile(name="reflex", max_tokens=cognition.reflex_max_tokens, temperature=cognition.temperature)
        thoughts = cognition.thinking_max_tokens if label == "DEEP" else 0
        return Profile(
            name="deliberate",
            max_tokens=cognition.deliberate_max_tokens + thoughts,
            thinking=True,
            temperature=cognition.temperature,
        )


def evidence_router(
    own: RouterConfig,
    inference: Inference,
    classifier_models: tuple[ModelRef, ...],
    languages: tuple[LanguagePack, ...],
    settings: Settings,
) -> EvidenceRouter:
    """Return the router with its classifier, where that is switched on."""
    asked = Classifier(inference, classifier_models, own.classifier_timeout_s) if own.classifier else None
    return EvidenceRouter(own, asked, languages, settings)


def _reason(opinion: Opinion) -> str:
    """Return the strongest signs for the label that was found."""
    label = opinion.label
    strongest = sorted(opinion.signs, key=lambda sign: -sign.adds.get(label, 0.0))[:2]
    named = [f"{sign.name} ({sign.seen})" for sign in strongest if sign.adds.get(label, 0.0) > 0]
    return f"{label}: {', '.join(named) or 'nothing speaks against it'}"
