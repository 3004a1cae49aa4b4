"""Four phases: keep the facts, clear old tool output, find the middle, summarise it.

Beside them a job that keeps what a flush had no time for, and a tool that recalls what a view no longer shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from bumble_core import PluginConfig, Settings, hookimpl, tool
from bumble_core.ports import Documents, Inference, Job, Phase, Sessions, TokenCounter, Tool

from .bounds import FindBounds, Protected
from .flush import Flush
from .owed import FlushOwed
from .prune import Prune
from .recall import Recall
from .summarise import Summarise


class CompactorConfig(PluginConfig):
    recall: bool = Field(default=False, description="Offer the tool `recall`, which looks up earlier messages.")


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
        return [
            Flush(inference, documents, protected, window, is_on=compression.compaction_flush_to_knowledge),
            Prune(protected),
            FindBounds(protected),
            Summarise(inference, counter, window),
        ]

    @hookimpl(trylast=True)
    def bumble_jobs(
        self, inference: Inference, sessions: Sessions, counter: TokenCounter, settings: Settings
    ) -> Sequence[Job]:
        return [FlushOwed(inference, sessions, counter, settings.cognition.max_context_tokens)]

    @hookimpl(trylast=True)
    def bumble_tools(self, sessions: Sessions) -> list[Tool]:
        return [tool(Recall(sessions).recall, is_work=False)] if self._offers_recall else []
