"""Which models a job asks, in which order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ports import Equipped, ModelChoices, Provider
from ..types.inference import ModelRef
from ..types.jobs import JobSpec
from ..types.settings import JobSettings, Settings


@dataclass(frozen=True, slots=True)
class JobModels:
    """`providers` are all that are installed."""

    choices: ModelChoices
    settings: Settings
    providers: Mapping[str, Provider]

    def of(self, spec: JobSpec) -> tuple[ModelRef, ...]:
        """Return the models of the job in their order."""
        return self.with_origin(spec)[0]

    def with_origin(self, spec: JobSpec) -> tuple[tuple[ModelRef, ...], str]:
        """Return the models of the job and who named them.

        That is what the user chose for the job, else its section of the configuration, else those of cognition. Where
        nobody says: those that the job prefers and whose provider is set up, then those of the conversation.
        """
        levels = (
            (self.choices.chosen(spec.id), "chosen"),
            (self.settings.jobs.get(spec.id, JobSettings()).models, f"jobs.{spec.id}.models"),
            (self.settings.agent.cognition.models, "agent.cognition.models"),
        )
        for models, origin in levels:
            if models:
                return models, origin
        preferred = tuple(each for each in spec.models if self._is_set_up(each))
        conversation, origin = self.of_conversation()
        told = f"what the job prefers, then {origin}" if preferred else origin
        return tuple(dict.fromkeys((*preferred, *conversation))), told

    def of_conversation(self) -> tuple[tuple[ModelRef, ...], str]:
        """Return the models of the conversation and who named them."""
        if chosen := self.choices.chosen("interactive"):
            return chosen, "chosen for the conversation"
        return self.settings.agent.models, "agent.models"

    def _is_set_up(self, model: ModelRef) -> bool:
        if model.provider is None:
            return True
        provider = self.providers.get(model.provider)
        return provider is not None and (not isinstance(provider, Equipped) or provider.is_equipped)

    def after(self, spec: JobSpec, failures: int) -> tuple[ModelRef, ...]:
        """Return the models to ask after so many failures in a row: one fewer each time, and others in turn.

        So a job that nobody answers, or whose answers are of no use, costs less from try to try until it asks a
        single model, and none is left out for good.
        """
        models = self.of(spec)
        if not failures or len(models) < 2:
            return models
        first = failures % len(models)
        turned = models[first:] + models[:first]
        return turned[: max(1, len(models) - failures)]
