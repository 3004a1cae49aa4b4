"""Four phases: keep the facts, clear old tool output, find the middle, summarise it.

Beside them a job that keeps what a flush had no time for, and a tool that recalls what a view no longer shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pydantic import Field

from bumble_core import Deferred, Later, PluginConfig, Settings, hookimpl, tool
from bumble_core.ports import Documents, Inference, Job, Phase, Sessions, TokenCounter, Tool
from bumble_core.types.compaction import CompactionState
from bumble_core.types.jobs import JobResult, JobView

from .bounds import Protected
from .declared import FLUSH_OWED


class CompactorConfig(PluginConfig):
    recall: bool = Field(default=False, description="Offer the tool `recall`, which looks up earlier messages.")


class _Working(Protocol):
    async def run(self, state: CompactionState) -> CompactionState: ...


class _Phase:
    """A phase of which only the name is there until a view is too long."""

    def __init__(self, name: str, working: Later[_Working]) -> None:
        self.name, self._working = name, working

    async def run(self, state: CompactionState) -> CompactionState:
        return await self._working().run(state)


class _FlushOwed:
    """The job, loaded when it is due."""

    spec = FLUSH_OWED

    def __init__(self, *given: object) -> None:
        self._job: Later[Job] = Later("bumble_compactor.owed:FlushOwed", *given)

    async def run(self, view: JobView) -> JobResult:
        return await self._job().run(view)


_recall = Deferred("bumble_compactor.recall:Recall")


class CompactorPlugin:
    Config = CompactorConfig

    def __init__(self, config: PluginConfig) -> None:
        self._offers_recall = isinstance(config, CompactorConfig) and config.recall

    @hookimpl(trylast=True)
    def bumble_compaction_phases(
        self, inference: Inference, counter: TokenCounter, documents: Documents, settings: Settings
    ) -> list[Phase]:
        compression, window = settings.cognition.history_compression, settings.cognition.max_context_tokens
        protected = Protected(
            first=compression.compaction_protect_first_n, last=compression.compaction_protect_last_n, counter=counter
        )
        flush: Later[_Working] = Later(
            "bumble_compactor.flush:Flush",
            *(inference, documents, protected, window),
            is_on=compression.compaction_flush_to_knowledge,
        )
        return [
            _Phase("flush", flush),
            _Phase("prune", Later("bumble_compactor.prune:Prune", protected)),
            _Phase("bounds", Later("bumble_compactor.bounds:FindBounds", protected)),
            _Phase("summarise", Later("bumble_compactor.summarise:Summarise", inference, counter, window)),
        ]

    @hookimpl(trylast=True)
    def bumble_jobs(
        self, inference: Inference, sessions: Sessions, counter: TokenCounter, settings: Settings
    ) -> Sequence[Job]:
        return [_FlushOwed(inference, sessions, counter, settings.cognition.max_context_tokens)]

    @hookimpl(trylast=True)
    def bumble_tools(self, sessions: Sessions) -> list[Tool]:
        return [tool(_recall(sessions).recall, is_work=False)] if self._offers_recall else []
