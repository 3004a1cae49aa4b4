"""Background jobs that keep the agent's memory in order."""

from __future__ import annotations

from bumble_core import PluginConfig, hookimpl
from bumble_core.ports import Inference, Job

from .consolidation import Consolidation


class JobsPlugin:
    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl(trylast=True)
    def bumble_jobs(self, inference: Inference) -> list[Job]:
        return [Consolidation(inference)]
