"""Background jobs that review the agent's work and keep its memory in order."""

from __future__ import annotations

from bumble_core import PluginConfig, Settings, hookimpl
from bumble_core.ports import Inference, Job

from .consolidation import Consolidation
from .extraction import SemanticExtraction
from .review import VerificationReview
from .skills import SkillCatalog


class JobsPlugin:
    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl(trylast=True)
    def bumble_jobs(self, inference: Inference, settings: Settings) -> list[Job]:
        return [
            VerificationReview(inference, settings),
            Consolidation(inference, settings),
            SemanticExtraction(inference, settings),
            SkillCatalog(),
        ]
