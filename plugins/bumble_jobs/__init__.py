"""Background jobs that review the agent's work and keep its memory in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from bumble_core import Later, PluginConfig, Settings, hookimpl
from bumble_core.ports import Checked, Inference, Job
from bumble_core.types.documents import Document
from bumble_core.types.jobs import JobResult, JobSpec, JobView

from .declared import CONSOLIDATION, EXTRACTION, REVIEW, SKILL_CATALOG


class _Working(Job, Checked, Protocol): ...


class _Declared:
    """A job of which only the declaration is there until it runs."""

    def __init__(self, spec: JobSpec, place: str, *collaborators: object) -> None:
        self.spec = spec
        self._job: Later[_Working] = Later(f"bumble_jobs.{place}", *collaborators)

    async def run(self, view: JobView) -> JobResult:
        return await self._job().run(view)

    def problem(self, view: JobView, result: JobResult, documents: Mapping[str, Document]) -> str:
        return self._job().problem(view, result, documents)


class JobsPlugin:
    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl(trylast=True)
    def bumble_jobs(self, inference: Inference, settings: Settings) -> list[Job]:
        return [
            _Declared(REVIEW, "review:VerificationReview", inference, settings),
            _Declared(CONSOLIDATION, "consolidation:Consolidation", inference, settings),
            _Declared(EXTRACTION, "extraction:SemanticExtraction", inference, settings),
            _Declared(SKILL_CATALOG, "skills:SkillCatalog"),
        ]
