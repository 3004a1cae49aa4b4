"""Tools with which the agent sees which models there are, and asks for others: for itself or for a background job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bumble_core import Deferred, PluginConfig, hookimpl
from bumble_core.ports import ModelChoices, Provider, Tool
from bumble_core.types.jobs import JobSpec
from bumble_core.types.settings import Settings


class ModelsPlugin:
    """Offers `list_providers`, `list_models`, `switch_model` and `switch_cognition_model`.

    A person is asked before a switch, unless the configuration allows it.
    """

    def __init__(self, config: PluginConfig) -> None:
        self._make = Deferred("bumble_models.tools:model_tools")

    @hookimpl
    def bumble_tools(
        self, providers: Mapping[str, Provider], choices: ModelChoices, jobs: Sequence[JobSpec], settings: Settings
    ) -> Sequence[Tool]:
        made: Sequence[Tool] = self._make(providers, choices, jobs, settings)
        return made
