"""How a plugin offers something to the kernel.

Hooks run once, synchronously, while a runtime is being assembled; none runs during a turn. A plural name collects
from every plugin, a singular name fills one slot. An implementation names only the arguments it uses, in any order;
more may be added later. The functions here are specifications: pluggy reads their names, arguments and docstrings and
never calls them.

A slot is filled by the plugin that `stages:` names, else by pluggy's order (`tryfirst`, plain, `trylast`). To change
an occupant without replacing it, wrap the slot:

    @hookimpl(wrapper=True)
    def bumble_router(self):
        inner = yield
        return Mine(inner)
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pluggy

from .ports import (
    Clock,
    Compactor,
    Documents,
    Execute,
    Files,
    Inference,
    Job,
    JobLedger,
    JobRunner,
    Judge,
    ModelChoices,
    Observer,
    Phase,
    PromptSection,
    Provider,
    Router,
    Sessions,
    SignalSource,
    Surface,
    TokenCounter,
    Tool,
    ToolRunner,
)
from .types.jobs import JobSpec
from .types.languages import LanguagePack
from .types.settings import Settings

PROJECT = "bumble"
ENTRY_POINT_GROUP = "bumble_core.plugins"

hookimpl = pluggy.HookimplMarker(PROJECT)
_collect = pluggy.HookspecMarker(PROJECT)
_slot = pluggy.HookspecMarker(PROJECT)(firstresult=True)


@_collect
def bumble_providers(home: Path, files: Files, clock: Clock, settings: Settings) -> Sequence[Provider]:
    """Offer inference backends.

    A provider's `name` is what stands before the colon in `provider:model`. `home` is the entity's folder, for what
    a provider learns about a server; what it writes there goes through `files`.
    """


@_collect
def bumble_tools(
    documents: Documents,
    sessions: Sessions,
    providers: Mapping[str, Provider],
    choices: ModelChoices,
    jobs: Sequence[JobSpec],
    clock: Clock,
    settings: Settings,
) -> Sequence[Tool]:
    """Offer tools to the model.

    `bumble_core.tool` makes one from a typed function. `choices` keeps which models the user chose, for the
    conversation and for each of `jobs`.
    """


@_collect
def bumble_prompt_sections(
    inference: Inference, documents: Documents, sessions: Sessions, clock: Clock, settings: Settings
) -> Sequence[PromptSection]:
    """Offer text for the system prompt or for the context of a turn.

    Sections stand in the order of their `place`, and of their plugins where that is equal.
    """


@_collect
def bumble_signals(documents: Documents, settings: Settings) -> Sequence[SignalSource]:
    """Offer what can be sensed about an input before it is routed: mood, intensity, drives.

    Readings of the same name are merged: the largest counts.
    """


@_collect
def bumble_languages(settings: Settings) -> Sequence[LanguagePack]:
    """Offer what is known of languages: lists of words and phrases, for the stages that decide by them.

    Packs of one language are joined list by list, so that one may add a language or a few words to a list.
    `bumble_core.languages` reads packs from files and finds their phrases in a text.
    """


@_collect
def bumble_compaction_phases(
    inference: Inference, counter: TokenCounter, documents: Documents, settings: Settings
) -> Sequence[Phase]:
    """Offer compaction phases.

    `cognition.history_compression.phases` decides which of them run, in which order.
    """


@_collect
def bumble_jobs(inference: Inference, sessions: Sessions, counter: TokenCounter, settings: Settings) -> Sequence[Job]:
    """Offer background jobs.

    `sessions` is for a job that needs messages of the log which its view does not hold.

    A job is named by its `spec.id`; the configuration's `jobs.ID` section changes its triggers, models and timeout.
    """


@_collect
def bumble_surfaces(settings: Settings) -> Sequence[Surface]:
    """Offer places where a person reads and writes, by name."""


@_collect
def bumble_observers(home: Path, settings: Settings) -> Sequence[Observer]:
    """Offer listeners for what happens.

    `notify` runs on the event loop and must not block; what it raises is logged and dropped.
    """


@_slot
def bumble_sessions(home: Path, files: Files, clock: Clock, settings: Settings) -> Sessions:
    """Keep the log and the view of every conversation."""


@_slot
def bumble_documents(home: Path, files: Files, clock: Clock, settings: Settings) -> Documents:
    """Keep the text files of the agent's memory."""


@_slot
def bumble_job_ledger(home: Path, files: Files, clock: Clock, settings: Settings) -> JobLedger:
    """Keep the states of jobs and the records of runs."""


@_slot
def bumble_token_counter(home: Path, files: Files, clock: Clock, settings: Settings) -> TokenCounter:
    """Estimate the size of a request in tokens.

    `home` and `files` are for what an occupant learns about models.
    """


@_slot
def bumble_inference(
    providers: Mapping[str, Provider], home: Path, files: Files, clock: Clock, settings: Settings
) -> Inference:
    """Turn a request into a completion: the fallback order over `request.models`.

    `home` and `files` are for what an occupant learns about models. The kernel meters every request around the
    occupant and its wrappers.
    """


@_slot
def bumble_tool_runner(tools: Mapping[str, Tool], clock: Clock, settings: Settings) -> ToolRunner:
    """Run the calls of one step in parallel, each with a deadline.

    What arrives here is validated and approved; repeat guard and output limits are the kernel's too.
    """


@_slot
def bumble_router(inference: Inference, languages: tuple[LanguagePack, ...], settings: Settings) -> Router:
    """Choose the profile and the models of a turn. `languages` has one pack a language."""


@_slot
def bumble_judge(
    inference: Inference, tools: Mapping[str, Tool], languages: tuple[LanguagePack, ...], settings: Settings
) -> Judge:
    """Decide whether a turn may end.

    `tools` is what the model could have called, by name; `languages` has one pack a language.
    """


@_slot
def bumble_compactor(phases: Sequence[Phase], counter: TokenCounter, settings: Settings) -> Compactor:
    """Make a conversation fit its window with the configured `phases`."""


@_slot
def bumble_job_runner(execute: Execute, ledger: JobLedger, clock: Clock, settings: Settings) -> JobRunner:
    """Have jobs executed without making a turn wait.

    `execute` runs one job to its record and builds its view then, so that a queue can stand between.
    """
