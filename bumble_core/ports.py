"""What a stage must do. One Protocol per slot or offer, one verb per Protocol, stores aside.

Collaborators reach a stage through the hook that builds it, data through its method. An occupant may also have
`async def aclose(self) -> None`; the runtime calls it once, when it closes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, runtime_checkable

from .types.compaction import CompactionState
from .types.documents import Document, Version
from .types.events import Event
from .types.inference import Completion, Delta, ModelInfo, ModelRef, Request, ToolSpec
from .types.jobs import Cause, JobResult, JobSpec, JobState, JobView, RunRecord
from .types.messages import Message, ToolCall, ToolResult
from .types.sessions import Hit, Session, SessionInfo
from .types.surfaces import Answer, Delivery, Question
from .types.turn import Route, Turn, TurnContext, TurnInput, Verdict


@runtime_checkable
class Clock(Protocol):
    """The only source of time. `now` is aware and UTC; `monotonic` is in seconds and never goes back."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


@runtime_checkable
class Files(Protocol):
    """The only way to change files of the home; a test replaces it to fail at any of these moments.

    Modes: `rb` reads, `xb` creates and fails when the file exists, `ab` appends. All methods block: call them in a
    thread.
    """

    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO: ...
    def write(self, handle: BinaryIO, data: bytes) -> None: ...
    def fsync(self, handle: BinaryIO) -> None: ...
    def replace(self, source: Path, target: Path) -> None:
        """Rename over `target` and make the rename itself durable."""

    def unlink(self, path: Path) -> None: ...


@runtime_checkable
class Provider(Protocol):
    """One inference backend.

    `stream` yields any number of deltas, then exactly one completion; streaming and not streaming are one path. A
    stream that was cut gives a completion with `finish="cut"` and no calls; one that failed raises an
    `InferenceError`. `models` lists what can be asked for, and raises an `InferenceError` when nobody answers.
    """

    @property
    def name(self) -> str: ...
    def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]: ...
    async def models(self) -> tuple[ModelInfo, ...]: ...


class Report(Protocol):
    """Told how far something has come: how much is done, and of how much where that is known."""

    def __call__(self, done: int, total: int | None) -> None: ...


@runtime_checkable
class Downloads(Protocol):
    """What a provider offers beside its port when it can fetch models.

    `report` is called on the event loop with bytes. Cancelling the call gives the download up.

    Raises:
        InferenceError: the model was not fetched; the message says why and what to do.
    """

    async def pull(self, model: str, report: Report) -> None: ...


@runtime_checkable
class Inference(Protocol):
    """A request to its completion, over the fallback order: deltas, then exactly one completion.

    Raises:
        ContextOverflow: the request does not fit; the kernel compacts and asks once more.
        InferenceError: no model answered.
    """

    def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]: ...


@runtime_checkable
class SignalSource(Protocol):
    """Something sensed about an input, as named numbers between 0 and 1: `intensity`, `mood`, whatever it may be."""

    async def read(self, input: TurnInput) -> Mapping[str, float]: ...


@runtime_checkable
class Router(Protocol):
    """Chooses the profile and the models of one turn."""

    async def route(self, input: TurnInput) -> Route: ...


@runtime_checkable
class Tool(Protocol):
    """Something that the model may have done.

    The kernel validates `call.arguments` against `spec.parameters` first and limits time and output. `is_work`
    separates deeds from conversation; only deeds count as evidence. A `ToolError` is an answer for the model.
    """

    @property
    def spec(self) -> ToolSpec: ...
    @property
    def is_work(self) -> bool: ...
    async def call(self, call: ToolCall, turn: TurnContext) -> ToolResult: ...


@runtime_checkable
class ToolRunner(Protocol):
    """Runs the calls of one step in parallel; yields one result per call, each as it finishes."""

    def run(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]: ...


@runtime_checkable
class Judge(Protocol):
    """Decides whether a turn may end."""

    async def judge(self, turn: TurnContext) -> Verdict: ...


@runtime_checkable
class TokenCounter(Protocol):
    """Estimates tokens without a tokenizer; `learn` is told what a server counted for the same request."""

    def count(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], model: ModelRef | None) -> int: ...
    def learn(self, estimated: int, actual: int, model: ModelRef) -> None: ...


@runtime_checkable
class Phase(Protocol):
    """One step of compaction. Returning `state` unchanged means that there was nothing to do."""

    @property
    def name(self) -> str: ...
    async def run(self, state: CompactionState) -> CompactionState: ...


@runtime_checkable
class Compactor(Protocol):
    """Makes a conversation fit its window; the kernel checks the laws on what comes back."""

    async def compact(self, state: CompactionState) -> CompactionState: ...


@runtime_checkable
class PromptSection(Protocol):
    """Text for the prompt; empty text leaves the section out.

    A `system` section is byte-stable: it is rendered again only when `key` changes. A `turn` section may change
    from turn to turn and is placed in the tail.
    """

    @property
    def placement(self) -> Literal["system", "turn"]: ...
    def key(self, turn: TurnContext) -> str: ...
    async def render(self, turn: TurnContext) -> str: ...


@runtime_checkable
class Surface(Protocol):
    """A place where a person reads and writes.

    Only what `deliver` reports as delivered counts as seen. A surface that cannot take a draft back sets
    `takes_drafts` to False and gets none. `ask` answers with `answered=False` where nobody can be asked.
    """

    @property
    def name(self) -> str: ...
    @property
    def takes_drafts(self) -> bool: ...
    async def draft(self, delta: Delta, turn: TurnContext) -> None: ...
    async def withdraw(self, turn: TurnContext) -> None: ...
    async def deliver(self, text: str, turn: TurnContext) -> Delivery: ...
    async def ask(self, question: Question, turn: TurnContext) -> Answer: ...


@runtime_checkable
class Observer(Protocol):
    """Must not block and cannot alter anything; what it raises is logged and dropped."""

    def notify(self, event: Event) -> None: ...


class Emit(Protocol):
    """Tell every observer."""

    def __call__(self, event: Event) -> None: ...


class ModelChoices(Protocol):
    """Models that the user chose at run time; they survive a restart.

    `role` is `interactive` or a job's id; an empty choice falls back to the configuration.
    """

    def chosen(self, role: str) -> tuple[ModelRef, ...]: ...
    async def choose(self, role: str, models: tuple[ModelRef, ...]) -> None: ...


@runtime_checkable
class Sessions(Protocol):
    """The log and the view of every conversation, durable at each step.

    `open` waits for the session's lease, which a dead process gives up, and closes turns that a dead process left
    open as `interrupted`, answering their open calls. All other methods of a turn are called while it is held.

    `begin` makes the input durable. `append` adds a message to the log of an open turn. `finish` closes the turn;
    `view` is given only when it is no longer the former view and what was appended, that is after a compaction.
    `turns` lists finished turns in the order of their numbers, which count all turns of the home from 1. `search`
    finds literal text, any case, in any script. `restore` writes turns of another home into a session.

    Raises:
        SessionBusy: `open` waited `wait_s` in vain.
    """

    def open(self, session_id: str, wait_s: float) -> AbstractAsyncContextManager[None]: ...
    async def resume(self, session_id: str) -> Session: ...
    async def begin(self, input: TurnInput) -> None: ...
    async def append(self, turn_id: str, message: Message) -> None: ...
    async def finish(self, turn: Turn, view: tuple[Message, ...] | None) -> Turn: ...
    async def turns(
        self, after: int = 0, session_id: str | None = None, limit: int | None = None
    ) -> tuple[Turn, ...]: ...
    async def count(self, after: int = 0) -> int: ...
    async def search(self, text: str, session_id: str | None = None, limit: int = 20) -> tuple[Hit, ...]: ...
    async def list(self) -> tuple[SessionInfo, ...]: ...
    async def restore(self, session_id: str, turns: tuple[Turn, ...]) -> None: ...
    async def delete(self, session_id: str) -> int: ...


@runtime_checkable
class Documents(Protocol):
    """Text files of the agent's memory, under `memory/` of the home; paths are relative to it, with `/`.

    `read` of a missing file gives an empty text with the version `ABSENT`. `write` succeeds only when the file still
    has the version `expected`, and keeps what it replaced among `versions`.

    Raises:
        VersionConflict: somebody wrote the file meanwhile.
        ContractError: the path leaves the memory folder.
    """

    async def read(self, path: str) -> Document: ...
    async def write(self, path: str, text: str, expected: str) -> Document: ...
    async def list(self, folder: str = "") -> tuple[str, ...]: ...
    async def versions(self, path: str) -> tuple[Version, ...]: ...
    async def read_version(self, path: str, version: str) -> Document: ...


@runtime_checkable
class Job(Protocol):
    """Background cognition: reads a view, returns what it would write."""

    @property
    def spec(self) -> JobSpec: ...
    async def run(self, view: JobView) -> JobResult: ...


@runtime_checkable
class JobLedger(Protocol):
    """States of jobs and records of runs, under `memory/cognition/` of the home.

    `lease` gives True to one holder per job on a home, across processes; a dead process gives it up. `open_run` is
    durable before the job works; `interrupt` closes the open runs of dead processes and returns them.
    """

    async def state(self, job: str) -> JobState: ...
    async def save(self, job: str, state: JobState) -> None: ...
    async def open_run(self, record: RunRecord) -> None: ...
    async def close_run(self, record: RunRecord) -> None: ...
    async def runs(self, job: str | None = None, limit: int | None = None) -> tuple[RunRecord, ...]: ...
    async def interrupt(self, at: datetime) -> tuple[RunRecord, ...]: ...
    def lease(self, job: str) -> AbstractAsyncContextManager[bool]: ...


class Execute(Protocol):
    """Runs one job to its record; the view is built when it runs."""

    def __call__(self, job_id: str, cause: Cause) -> Awaitable[RunRecord]: ...


@runtime_checkable
class JobRunner(Protocol):
    """Has jobs executed, in this process or elsewhere, without making the caller wait.

    `drain` waits for the runs that were started here, at most `wait_s`, and cancels the rest.
    """

    async def submit(self, job_id: str, cause: Cause) -> None: ...
    async def drain(self, wait_s: float) -> None: ...
