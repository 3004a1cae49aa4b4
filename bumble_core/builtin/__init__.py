"""The kernel's own plugin: mechanical defaults, registered like any other and always last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..hookspecs import hookimpl
from ..ports import (
    Clock,
    Compactor,
    Documents,
    Execute,
    Files,
    Inference,
    JobLedger,
    JobRunner,
    Observer,
    Phase,
    PromptSection,
    Provider,
    Sessions,
    Surface,
    TokenCounter,
    Tool,
    ToolRunner,
)
from ..types.settings import Settings
from .compactor import PhasedCompactor
from .documents import FileDocuments
from .endpoints import EndpointMemory
from .inference import FallbackInference
from .job_runner import InProcessJobRunner
from .ledger import FileJobLedger
from .observers import ActivityLog
from .sections import CurrentTime, Identity, Reader
from .sessions import SqliteSessions
from .surfaces import NoSurface
from .tokens import CharacterCounter
from .tool_runner import ParallelToolRunner


class CorePlugin:
    """Fills every slot that needs no judgement: storage, fallback order, running tools and jobs, running phases."""

    @hookimpl(trylast=True)
    def bumble_sessions(self, home: Path, clock: Clock) -> Sessions:
        return SqliteSessions(home, clock)

    @hookimpl(trylast=True)
    def bumble_documents(self, home: Path, files: Files, clock: Clock) -> Documents:
        return FileDocuments(home, files, clock)

    @hookimpl(trylast=True)
    def bumble_job_ledger(self, home: Path, files: Files, clock: Clock) -> JobLedger:
        return FileJobLedger(home, files, clock)

    @hookimpl(trylast=True)
    def bumble_token_counter(self, home: Path, files: Files) -> TokenCounter:
        return CharacterCounter(home, files)

    @hookimpl(trylast=True)
    def bumble_inference(
        self, providers: Mapping[str, Provider], home: Path, files: Files, clock: Clock, settings: Settings
    ) -> Inference:
        memory = EndpointMemory(home, files, clock)
        return FallbackInference(providers, memory, clock, settings.cognition.model_windows)

    @hookimpl(trylast=True)
    def bumble_tool_runner(self, tools: Mapping[str, Tool], clock: Clock, settings: Settings) -> ToolRunner:
        return ParallelToolRunner(tools, clock, settings.tools)

    @hookimpl(trylast=True)
    def bumble_compactor(self, phases: Sequence[Phase], counter: TokenCounter, settings: Settings) -> Compactor:
        return PhasedCompactor(phases, counter, settings.cognition.history_compression.compaction_max_passes)

    @hookimpl(trylast=True)
    def bumble_job_runner(self, execute: Execute) -> JobRunner:
        return InProcessJobRunner(execute)

    @hookimpl(trylast=True)
    def bumble_prompt_sections(self, clock: Clock, settings: Settings) -> list[PromptSection]:
        return [Identity(settings.agent.name), Reader(), CurrentTime(clock)]

    @hookimpl(trylast=True)
    def bumble_surfaces(self) -> list[Surface]:
        return [NoSurface()]

    @hookimpl(trylast=True)
    def bumble_observers(self) -> list[Observer]:
        return [ActivityLog()]
