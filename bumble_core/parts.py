"""What an assembly built, ready to be run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .broadcast import Broadcast
from .jobs.controller import JobController
from .jobs.executor import JobExecutor
from .loop import Stages
from .metering import MeteredInference
from .ports import (
    Clock,
    Documents,
    Files,
    JobLedger,
    JobRunner,
    ModelChoices,
    Provider,
    Sessions,
    Surface,
    Tool,
    ToolRunner,
)
from .tool_calls import CallGate
from .types.plugins import Choice, PluginReport
from .types.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """`occupants` are closed with the runtime, the last first; `reports` say what became of each plugin."""

    settings: Settings
    home: Path
    clock: Clock
    files: Files
    broadcast: Broadcast
    stages: Stages
    meter: MeteredInference
    runner: ToolRunner
    gate: CallGate
    sessions: Sessions
    documents: Documents
    ledger: JobLedger
    choices: ModelChoices
    jobs: JobController
    execute: JobExecutor
    job_runner: JobRunner
    providers: Mapping[str, Provider]
    tools: Mapping[str, Tool]
    surfaces: Mapping[str, Surface]
    chosen: tuple[Choice, ...]
    occupants: tuple[object, ...]
    reports: tuple[PluginReport, ...] = ()
