"""What a turn thinks with: providers, inference, tools, and the stages that decide."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Literal, Protocol, runtime_checkable

from ..types.compaction import CompactionState
from ..types.inference import Completion, Delta, ModelInfo, ModelRef, Request, ToolSpec
from ..types.messages import Message, ToolCall, ToolResult
from ..types.turn import Explanation, Route, TurnContext, TurnInput, Verdict


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
class Addressed(Protocol):
    """A provider that tells where its server is, without secrets: what is learnt about a model holds there only."""

    @property
    def address(self) -> str: ...


@runtime_checkable
class Exclusive(Protocol):
    """A provider whose models answer one request at a time: those of background runs give way to those of turns.

    Closing a stream early has to free the model soon.
    """

    @property
    def is_exclusive(self) -> Literal[True]: ...


@runtime_checkable
class Equipped(Protocol):
    """A provider that tells whether it has what its server asks for, a key above all; one that does not counts as so.

    It asks nobody: the server may still be down.
    """

    @property
    def is_equipped(self) -> bool: ...


@runtime_checkable
class Inference(Protocol):
    """A request to its completion, over the fallback order: deltas, then exactly one completion.

    Raises:
        ContextOverflow: the request does not fit; the kernel compacts and asks once more.
        InferenceError: no model answered.
    """

    def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]: ...


@runtime_checkable
class Sizing(Protocol):
    """An occupant of inference that knows how many tokens its models hold; None is "not known".

    With `may_list` False it asks no server for it.
    """

    async def window_of(self, ref: ModelRef, *, may_list: bool) -> int | None: ...


@runtime_checkable
class SignalSource(Protocol):
    """Something sensed about an input, as named numbers between 0 and 1: `intensity`, `mood`, whatever it may be."""

    async def read(self, input: TurnInput) -> Mapping[str, float]: ...


@runtime_checkable
class Router(Protocol):
    """Chooses the profile and the models of one turn."""

    async def route(self, input: TurnInput) -> Route: ...


@runtime_checkable
class Explaining(Protocol):
    """A router that tells what it makes of an input, without asking anybody: what `bumble route` shows."""

    def explain(self, input: TurnInput) -> Explanation: ...


@runtime_checkable
class Tool(Protocol):
    """Something that the model may have done.

    The kernel validates `call.arguments` against `spec.parameters` first and limits time and output. `is_work`
    separates deeds from conversation; only deeds count as evidence. A `ToolError` is an answer for the model. A tool
    may be `Cautious` and `Timed` as well.
    """

    @property
    def spec(self) -> ToolSpec: ...
    @property
    def is_work(self) -> bool: ...
    async def call(self, call: ToolCall, turn: TurnContext) -> ToolResult: ...


@runtime_checkable
class Cautious(Protocol):
    """A tool that says whether a person should be asked before it runs, unless the configuration names it."""

    @property
    def asks_first(self) -> bool: ...


@runtime_checkable
class Timed(Protocol):
    """A tool that needs more time than others, or less: how long one call may take; None leaves it to the settings."""

    @property
    def timeout_s(self) -> float | None: ...


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
    from turn to turn and is placed in the tail. A section may be `Placed` and `Looking` as well.
    """

    @property
    def placement(self) -> Literal["system", "turn"]: ...
    def key(self, turn: TurnContext) -> str: ...
    async def render(self, turn: TurnContext) -> str: ...


@runtime_checkable
class Placed(Protocol):
    """A prompt section that says where it stands: smaller numbers first; 50 where a section says nothing.

    What changes rarely stands first, for a change costs the cache of everything after it.
    """

    @property
    def place(self) -> int: ...


@runtime_checkable
class Looking(Protocol):
    """A prompt section whose key follows from something outside: `look` is awaited before keys are asked for."""

    async def look(self, turn: TurnContext) -> None: ...
