"""One user turn, from input to record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import Field

from .base import Value, new_id
from .inference import Completion, ModelRef, Profile, Usage
from .messages import Message, ToolCall, ToolResult

Status = Literal["done", "capped", "failed", "cancelled", "interrupted"]
Origin = Literal["user", "automation", "autonomous"]


class Limits(Value):
    """What a turn may spend. `max_auxiliary_calls` bounds router, judge, compaction and probe calls together."""

    max_steps: int
    max_pushbacks: int
    max_auxiliary_calls: int
    deadline_s: float


class Route(Value):
    """Which profile answers with which models, and why. `confidence` is between 0 and 1."""

    profile: Profile
    models: tuple[ModelRef, ...]
    decided_by: Literal["forced", "heuristic", "classifier"]
    reason: str
    confidence: float = 1.0


class Verdict(Value):
    """May the turn end? `nudge` is shown to the model when it may not."""

    done: bool
    decided_by: str
    reason: str
    nudge: str = ""


class TurnInput(Value):
    """What is known before routing. `models` are in force for this turn; `signals` are what plugins sense."""

    id: str = Field(default_factory=lambda: new_id("turn"))
    session_id: str
    message: Message
    history: tuple[Message, ...] = ()
    origin: Origin = "user"
    surface: str = "none"
    models: tuple[ModelRef, ...]
    signals: dict[str, float] = {}
    started: datetime


class Turn(Value):
    """The record of a finished turn: what is stored and what jobs read.

    `delivered` holds what the user saw, in order; `messages` is the log. `number` counts the turns of a home.
    """

    id: str
    session_id: str
    number: int = 0
    origin: Origin = "user"
    surface: str = "none"
    started: datetime
    finished: datetime
    status: Status
    error: str | None = None
    route: Route | None = None
    messages: tuple[Message, ...]
    delivered: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    usage: Usage = Usage()
    calls: dict[str, int] = {}

    @property
    def text(self) -> str:
        """Everything that the user saw, as one text."""
        return "\n\n".join(self.delivered)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """A turn in flight. Immutable: every step returns the next context.

    `view` is what the model will see and may be compacted; `log` is what happened and never shrinks. `nudge` is
    shown once, in the tail of the next request. `delivered` is what reached the user.
    """

    input: TurnInput
    route: Route
    limits: Limits
    view: tuple[Message, ...]
    log: tuple[Message, ...]
    delivered: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    nudge: str = ""
    step: int = 0
    last: Completion | None = None
    status: Status = "capped"
    error: str | None = None

    @classmethod
    def begin(cls, input: TurnInput, route: Route, limits: Limits) -> TurnContext:
        return cls(input=input, route=route, limits=limits, view=(*input.history, input.message), log=(input.message,))

    @property
    def pending_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last model message that have no result yet."""
        answered: set[str] = set()
        for message in reversed(self.log):
            if message.role == "assistant":
                return tuple(call for call in message.tool_calls if call.id not in answered)
            answered.update(result.call_id for result in message.tool_results)
        return ()

    @property
    def last_results(self) -> tuple[ToolResult, ...]:
        """Results of the calls of the last step, in the order of the calls."""
        found: list[ToolResult] = []
        for message in reversed(self.log):
            if message.role != "tool":
                break
            found[:0] = message.tool_results
        return tuple(found)

    @property
    def closing_text(self) -> str:
        """What the model wrote last, if it stopped calling tools."""
        return self.last.message.text.strip() if self.last and not self.last.message.tool_calls else ""

    @property
    def visible_text(self) -> str:
        """All that the user has seen or is about to see: delivered texts and the closing text, in order."""
        return "\n".join(text for text in (*self.delivered, self.closing_text) if text)

    @property
    def end_requested(self) -> bool:
        """True when the last step asks to end; not beside a deed that failed."""
        failed = any(result.is_work and result.status != "ok" for result in self.last_results)
        return not failed and any(result.ends_turn for result in self.last_results)

    @property
    def work_results(self) -> tuple[ToolResult, ...]:
        return tuple(result for message in self.log for result in message.tool_results if result.is_work)

    @property
    def pushbacks(self) -> int:
        return sum(not verdict.done for verdict in self.verdicts)

    @property
    def steps_left(self) -> int:
        return self.limits.max_steps - self.step

    def answered(self, completion: Completion) -> TurnContext:
        """Count one step; an empty message is remembered as `last` and leaves no trace in the history."""
        added = self if completion.message.is_empty else self.appended(completion.message)
        return replace(added, last=completion, nudge="", step=self.step + 1)

    def observed(self, message: Message) -> TurnContext:
        """Add one tool result; the results of a step stand in the order of its calls, whenever they come."""
        calls = next((m.tool_calls for m in reversed(self.log) if m.role == "assistant"), ())
        order = {call.id: place for place, call in enumerate(calls)}
        return replace(self, view=_placed(self.view, message, order), log=_placed(self.log, message, order))

    def told(self, text: str) -> TurnContext:
        """Count `text` as seen by the user."""
        return replace(self, delivered=(*self.delivered, text))

    def judged(self, verdict: Verdict) -> TurnContext:
        return replace(self, verdicts=(*self.verdicts, verdict), nudge="" if verdict.done else verdict.nudge)

    def ended(self, status: Status, error: str | None = None) -> TurnContext:
        return replace(self, status=status, error=error)

    def refitted(self, view: tuple[Message, ...]) -> TurnContext:
        return replace(self, view=view)

    def record(self, finished: datetime, usage: Usage, calls: dict[str, int]) -> Turn:
        """Return what is kept of the turn; `calls` counts its requests by purpose."""
        return Turn(
            id=self.input.id,
            session_id=self.input.session_id,
            origin=self.input.origin,
            surface=self.input.surface,
            started=self.input.started,
            finished=finished,
            status=self.status,
            error=self.error,
            route=self.route,
            messages=self.log,
            delivered=self.delivered,
            verdicts=self.verdicts,
            usage=usage,
            calls=calls,
        )

    def appended(self, message: Message) -> TurnContext:
        return replace(self, view=(*self.view, message), log=(*self.log, message))


def _placed(messages: tuple[Message, ...], message: Message, order: dict[str, int]) -> tuple[Message, ...]:
    (result,) = message.tool_results
    place, at = order.get(result.call_id, len(order)), len(messages)
    while at > 0 and messages[at - 1].role == "tool":
        (before,) = messages[at - 1].tool_results
        if order.get(before.call_id, -1) <= place:
            break
        at -= 1
    return (*messages[:at], message, *messages[at:])
