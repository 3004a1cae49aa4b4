"""Which models a job asks, in which order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..ports import ModelChoices
from ..types.inference import ModelRef
from ..types.jobs import JobSpec
from ..types.settings import JobSettings, Settings


@dataclass(frozen=True, slots=True)
class JobModels:
    """`providers` are the names of those that are set up."""

    choices: ModelChoices
    settings: Settings
    providers: Collection[str]

    def of(self, spec: JobSpec) -> tuple[ModelRef, ...]:
        """Return the order of models that is the first to name any.

        What the user chose for the job, its section of the configuration, those of cognition, those that the job
        prefers and whose provider is set up, what the user chose for the conversation, those of the conversation.
        """
        own = self.settings.jobs.get(spec.id, JobSettings())
        preferred = tuple(each for each in spec.models if each.provider is None or each.provider in self.providers)
        return (
            self.choices.chosen(spec.id)
            or own.models
            or self.settings.agent.cognition.models
            or preferred
            or self.choices.chosen("interactive")
            or self.settings.agent.models
        )

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
