"""The configuration file as types. Unknown keys are errors everywhere."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic.config import JsonDict

from .approvals import PatternText, RuleText
from .base import Value
from .budget import Price
from .gate import Gate
from .kinds import Duration, EntityName, Folder, ModelNames, Number, Positive, Seconds, Switch, Whole


class PluginConfig(Value):
    """Base of every plugin's section: closed and frozen like the rest."""


class AgentCognition(Value):
    """What background cognition uses."""

    models: ModelNames = Field(
        default=(), description="Fallback order of background jobs; empty: what each prefers, then `agent.models`."
    )
    jobs_at_once: Positive = Field(default=2, description="Jobs that run side by side at most.")
    max_loss: Number = Field(
        default=0.5, ge=0, le=1, description="Share of a document that a job may leave out without saying what."
    )
    keep_runs: Positive = Field(default=5000, description="Records of runs that are kept at most.")
    keep_runs_days: Positive = Field(default=90, description="Days that the record of a run is kept.")


class Personality(Value):
    """Who the entity is, in any language; empty parts are left out of the prompt."""

    compile: Literal["template", "model"] = Field(
        default="template",
        description="`model`: the deliberate model writes the monologue once, into `memory/persona/`; you may edit it.",
    )
    description: str = Field(default="", description="Who the entity is, in a few sentences.")
    traits: tuple[str, ...] = Field(default=(), description="What it is like, a word or a phrase each.")
    values: tuple[str, ...] = Field(default=(), description="What matters to it.")
    habits: tuple[str, ...] = Field(default=(), description="What it tends to do.")


class Voice(Value):
    """How the entity speaks, in any language; empty parts are left out of the prompt."""

    tone: str = Field(default="", description="How it sounds.")
    vocabulary: str = Field(default="", description="Which words it takes.")
    sentences: str = Field(default="", description="How its sentences are built.")
    humour: str = Field(default="", description="How it jokes, if it does.")
    quirks: tuple[str, ...] = Field(default=(), description="What it says or does again and again.")
    avoids: tuple[str, ...] = Field(default=(), description="What it never says.")


class Agent(Value):
    """Who the entity is and which models it thinks with."""

    name: EntityName = Field(
        default="bumble", min_length=1, description="The entity's name; it also names its home folder."
    )
    models: ModelNames = Field(default=(), description="Fallback order of the conversation, `provider:model` each.")
    cognition: AgentCognition = AgentCognition()
    personality: Personality = Personality()
    voice: Voice = Voice()
    backstory: str = Field(default="", description="What the entity comes from and has lived through.")
    always_deliberate: Switch = Field(default=False, description="Answer every message with the deliberate profile.")


class HistoryCompression(Value):
    """When and how a long conversation is made to fit."""

    enabled: Switch = Field(default=True, description="Off: the request is only cut to fit, with a marker.")
    compaction_threshold_ratio: Number = Field(
        default=0.75, gt=0, lt=1, description="Share of `max_context_tokens` at which compaction starts."
    )
    compaction_target_ratio: Number = Field(
        default=0.20, gt=0, lt=1, description="Share of the threshold that the protected tail may keep."
    )
    compaction_protect_last_n: Whole = Field(default=12, ge=1, description="Newest messages that are never summarised.")
    compaction_protect_first_n: Whole = Field(default=2, ge=0, description="Oldest messages that are never summarised.")
    compaction_max_passes: Whole = Field(default=3, ge=1, le=10, description="Rounds of the phases at most.")
    compaction_flush_to_knowledge: Switch = Field(
        default=True, description="Keep durable facts in `memory/knowledge.md` before they are summarised away."
    )
    phases: tuple[str, ...] = Field(
        default=("flush", "prune", "bounds", "summarise"), description="Which phases run, in which order."
    )


class Cognition(Value):
    """Budgets of a turn."""

    max_context_tokens: Whole = Field(default=32_768, gt=0, description="Size of the window that a request must fit.")
    reflex_max_tokens: Whole = Field(default=512, gt=0, description="Longest reply of the reflex profile, in tokens.")
    deliberate_max_tokens: Whole = Field(
        default=2048, gt=0, description="Longest reply of the deliberate profile, in tokens."
    )
    thinking_max_tokens: Whole = Field(
        default=2048, ge=0, description="What a turn that takes thought may think, in tokens, beside its reply."
    )
    temperature: Number = Field(default=0.7, ge=0, le=2, description="Sampling temperature of both profiles.")
    tool_choice: Literal["auto", "required"] = Field(
        default="auto",
        description="`required`: each step but the last must call a tool; a model that cannot answers in words.",
    )
    model_windows: dict[str, Positive] = Field(
        default={}, description="Windows of single models in tokens, by `provider:model`; unset: as servers tell."
    )
    tool_continuation_rounds: Whole = Field(
        default=8, ge=0, description="Clamped to 0 to 16; a turn has max(6, min(25, 6 + rounds)) steps."
    )
    turn_deadline_s: Number = Field(default=600, gt=0, description="Longest time a turn may take, in seconds.")
    turn_max_tokens: Positive | None = Field(
        default=None, description="Tokens that all requests of one turn may take together; unset: no limit."
    )
    turn_max_cost: Number | None = Field(
        default=None, gt=0, description="What all requests of one turn may cost, by `prices`; unset: no limit."
    )
    prices: dict[str, Price] = Field(default={}, description="What models cost, by `provider:model`.")
    max_auxiliary_calls: Whole = Field(
        default=12, ge=0, description="Router, judge, compaction and probe calls of one turn at most."
    )
    system_prompt_max_chars: Whole = Field(
        default=12_000, ge=1_000, description="Longest system prompt, in characters; the longest sections are cut."
    )
    turn_context_max_chars: Whole = Field(
        default=6_000, ge=0, description="Longest context of a turn, in characters; the longest sections are cut."
    )
    history_compression: HistoryCompression = HistoryCompression()

    @model_validator(mode="after")
    def _knows_costs(self) -> Self:
        if self.prices or self.turn_max_cost is None:
            return self
        raise ValueError("`turn_max_cost` needs `prices`: what no price is known of costs nothing")


class Stages(Value):
    """The plugin that fills each slot; unset leaves it to the plugins."""

    sessions: str | None = Field(default=None, description="Keeps the log and the view of every conversation.")
    documents: str | None = Field(default=None, description="Keeps the text files of the agent's memory.")
    job_ledger: str | None = Field(default=None, description="Keeps the states of jobs and the records of runs.")
    token_counter: str | None = Field(default=None, description="Estimates the size of a request.")
    inference: str | None = Field(default=None, description="Turns a request into a completion, in the fallback order.")
    tool_runner: str | None = Field(default=None, description="Runs the calls of a step.")
    router: str | None = Field(default=None, description="Chooses the profile and the models of a turn.")
    judge: str | None = Field(default=None, description="Decides whether a turn may end.")
    compactor: str | None = Field(default=None, description="Makes a conversation fit its window.")
    job_runner: str | None = Field(default=None, description="Has jobs executed.")


class Tools(Value):
    """Which calls run, which only after a question, and how long they may take.

    An entry is a tool's name, `NAME(PATTERN)` for its first argument or `NAME(ARGUMENT=PATTERN)`; `*` and `?` stand
    for any text. `rules` come first, in their order; then `deny`, `ask`, `allow`. The first that fits decides.
    """

    rules: tuple[RuleText, ...] = Field(
        default=(), description="Read first, in this order: `allow: CALLS`, `ask: CALLS` or `deny: CALLS`."
    )
    allow: tuple[PatternText, ...] = Field(
        default=("*",), description="Calls that run; what no entry names is denied. `*` leaves it to each tool."
    )
    ask: tuple[PatternText, ...] = Field(default=(), description="Calls that run only after the person agreed.")
    deny: tuple[PatternText, ...] = Field(default=(), description="Calls that never run.")
    timeout_s: Number = Field(default=60, gt=0, description="Longest time of one call, in seconds.")
    timeouts: dict[str, Seconds] = Field(
        default={}, description="Longest time of one call of single tools, in seconds, by the tool's name."
    )
    max_output_chars: Whole = Field(
        default=16_000, ge=200, description="Longest tool output that the model sees; `read_output` reads on."
    )


class JobSettings(Value):
    """What the configuration may say of one job."""

    enabled: Switch = Field(default=True, description="Off: the job never runs by itself.")
    models: ModelNames = Field(default=(), description="Fallback order of this job alone.")
    schedule: str | None = Field(default=None, description="Five-field cron expression in place of the job's own.")
    timezone: str | None = Field(
        default=None,
        description="Time zone in which schedules are read, such as `Europe/Berlin`; unset: the job's own.",
    )
    turns: Positive | None = Field(default=None, description="Turns that trigger the job, in place of its own number.")
    timeout: Duration | None = Field(default=None, description="Longest time of a run, in seconds or as `PT5M`.")
    daily_tokens: Positive | None = Field(
        default=None, description="Tokens that the job may take in a day (UTC) before it waits for the next."
    )


def _sections_beside_disabled(schema: JsonDict) -> None:
    properties = schema["properties"]
    if isinstance(properties, dict):
        schema["additionalProperties"] = {"type": "object", "description": "One plugin's own section, by its name."}
        del properties["sections"]


class Plugins(Value):
    """Sections of plugins by name, and the names of those that are never imported.

    In a file each section stands beside `disabled`: `plugins: {disabled: [shell], files: {root: .}}`.
    """

    model_config = ConfigDict(json_schema_extra=_sections_beside_disabled)

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

    home: Folder | None = Field(
        default=None,
        description="Folder that keeps sessions and memory; unset: one of the entity's name among the user's data.",
    )
    agent: Agent = Agent()
    cognition: Cognition = Cognition()
    stages: Stages = Stages()
    prefer: dict[str, str] = Field(
        default={}, description='Whose object wins where two plugins offer one name: `{"tool:read_file": PLUGIN}`.'
    )
    plugins: Plugins = Plugins()
    jobs: dict[str, JobSettings] = Field(default={}, description="What changes about each background job, by its id.")
    tools: Tools = Tools()
    gate: Gate = Gate()
