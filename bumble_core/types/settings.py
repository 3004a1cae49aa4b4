"""The configuration file as types. Unknown keys are errors everywhere."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from .base import Value
from .inference import ModelRef


def _model_ref(value: object) -> object:
    return ModelRef.parse(value) if isinstance(value, str) else value


ModelName = Annotated[ModelRef, BeforeValidator(_model_ref)]
ModelNames = tuple[ModelName, ...]


class PluginConfig(Value):
    """Base of every plugin's section: closed and frozen like the rest."""


class AgentCognition(Value):
    """What background cognition uses."""

    models: ModelNames = Field(default=(), description="Fallback order of background jobs; empty: `agent.models`.")


class Agent(Value):
    """Who the entity is and which models it thinks with."""

    name: str = Field(default="bumble", description="The entity's name; it also names its home folder.", min_length=1)
    models: ModelNames = Field(default=(), description="Fallback order of the conversation, `provider:model` each.")
    cognition: AgentCognition = AgentCognition()
    always_deliberate: bool = Field(default=False, description="Answer every message with the deliberate profile.")


class HistoryCompression(Value):
    """When and how a long conversation is made to fit."""

    enabled: bool = Field(default=True, description="Off: the request is only cut to fit, with a marker.")
    compaction_threshold_ratio: float = Field(
        default=0.75, gt=0, lt=1, description="Share of `max_context_tokens` at which compaction starts."
    )
    compaction_target_ratio: float = Field(
        default=0.20, gt=0, lt=1, description="Share of the threshold that the protected tail may keep."
    )
    compaction_protect_last_n: int = Field(default=12, ge=1, description="Newest messages that are never summarised.")
    compaction_protect_first_n: int = Field(default=2, ge=0, description="Oldest messages that are never summarised.")
    compaction_max_passes: int = Field(default=3, ge=1, le=10, description="Rounds of the phases at most.")
    compaction_flush_to_knowledge: bool = Field(
        default=True, description="Keep durable facts in `memory/knowledge.md` before they are summarised away."
    )
    phases: tuple[str, ...] = Field(
        default=("flush", "prune", "bounds", "summarise"), description="Which phases run, in which order."
    )


class Cognition(Value):
    """Budgets of a turn."""

    max_context_tokens: int = Field(default=32_768, gt=0, description="Size of the window that a request must fit.")
    reflex_max_tokens: int = Field(default=512, gt=0, description="Longest reply of the reflex profile, in tokens.")
    deliberate_max_tokens: int = Field(
        default=2048, gt=0, description="Longest reply of the deliberate profile, in tokens."
    )
    temperature: float = Field(default=0.7, ge=0, le=2, description="Sampling temperature of both profiles.")
    tool_continuation_rounds: int = Field(
        default=8, ge=0, description="Clamped to 0 to 16; a turn has max(6, min(25, 6 + rounds)) steps."
    )
    turn_deadline_s: float = Field(default=600, gt=0, description="Longest time a turn may take, in seconds.")
    max_auxiliary_calls: int = Field(
        default=12, ge=0, description="Router, judge, compaction and probe calls of one turn at most."
    )
    history_compression: HistoryCompression = HistoryCompression()


class Stages(Value):
    """The plugin that fills each slot; unset leaves it to the plugins."""

    sessions: str | None = None
    documents: str | None = None
    job_ledger: str | None = None
    token_counter: str | None = None
    inference: str | None = None
    tool_runner: str | None = None
    router: str | None = None
    judge: str | None = None
    compactor: str | None = None
    job_runner: str | None = None


class Tools(Value):
    """Which tools run, and how long. Patterns are shell patterns over tool names; `deny` wins, then `ask`."""

    allow: tuple[str, ...] = Field(default=("*",), description="Tools that run without asking.")
    ask: tuple[str, ...] = Field(default=(), description="Tools that run only after the person agreed.")
    deny: tuple[str, ...] = Field(default=(), description="Tools that never run.")
    timeout_s: float = Field(default=60, gt=0, description="Longest time of one call, in seconds.")
    max_output_chars: int = Field(
        default=16_000, ge=200, description="Longest tool output that the model sees; the rest is cut with a marker."
    )


class Gate(Value):
    """How the completion gate may hold a turn open."""

    max_pushbacks: int = Field(default=2, ge=0, description="Refusals of the judge in one turn at most.")


class JobSettings(Value):
    """What the configuration may say of one job."""

    enabled: bool = Field(default=True, description="Off: the job never runs by itself.")
    models: ModelNames = Field(default=(), description="Fallback order of this job alone.")
    schedule: str | None = Field(default=None, description="Five-field cron expression in place of the job's own.")
    turns: int | None = Field(default=None, gt=0, description="Turns that trigger the job, in place of its own number.")
    timeout: timedelta | None = Field(default=None, description="Longest time of a run, in seconds or as `PT5M`.")


class Plugins(Value):
    """Sections of plugins by name, and the names of those that are never imported."""

    disabled: tuple[str, ...] = Field(default=(), description="Plugins that are never imported.")
    sections: dict[str, dict[str, Any]] = Field(default={}, description="Each plugin's own section, by plugin name.")

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, given: object) -> object:
        """Take `{NAME: {...}}` of the file as `{sections: {NAME: {...}}}`."""
        if not isinstance(given, dict) or "sections" in given:
            return given
        disabled = {key: value for key, value in given.items() if key == "disabled"}
        return {**disabled, "sections": {key: value or {} for key, value in given.items() if key != "disabled"}}


class Settings(Value):
    """Everything that a configuration file may say."""

    home: Path | None = Field(default=None, description="Folder that keeps sessions and memory.")
    agent: Agent = Agent()
    cognition: Cognition = Cognition()
    stages: Stages = Stages()
    prefer: dict[str, str] = Field(
        default={}, description='Whose object wins where two plugins offer one name: `{"tool:read_file": PLUGIN}`.'
    )
    plugins: Plugins = Plugins()
    jobs: dict[str, JobSettings] = {}
    tools: Tools = Tools()
    gate: Gate = Gate()
