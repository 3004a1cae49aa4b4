"""One user turn, from input to record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from pydantic import Field

from .base import Value, new_id
from .budget import Budget, Spent
from .compaction import Compaction
from .inference import Completion, ModelRef, Usage
from .log import Preview, last_results, pending_calls, previews, recent_results, said, said_in_a_row, with_result
from .messages import Message, ToolCall, ToolResult
from .prompt import NO_PROMPT, CompiledPrompt
from .record import Explanation, GatePolicy, Label, Origin, Route, Sign, Status, Turn, Verdict

__all__ = [
    "Explanation",
    "GatePolicy",
    "Label",
    "Limits",
    "Origin",
    "Route",
    "Sign",
    "Status",
    "Turn",
    "TurnContext",
    "TurnInput",
    "Verdict",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Budget):
    """What bounds a turn: its budget, its steps and the push-backs of the judge."""

    max_steps: int
    max_pushbacks: int


class TurnInput(Value):
    """What is known before routing. `models` are in force for this turn; `signals` are what plugins sense.

    `gate` is how the turn's endings are judged: not at all, without asking a model, or with.
    """

    id: str = Field(default_factory=lambda: new_id("turn"))
    session_id: str
    message: Message
    history: tuple[Message, ...] = ()
    origin: Origin = "user"
    surface: str = "none"
    gate: GatePolicy = "full"
    models: tuple[ModelRef, ...]
    signals: dict[str, float] = {}
    started: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """A turn in flight. Immutable: every step returns the next context.

    `view` is what the model will see and may be compacted; `log` is what happened and never shrinks. `nudge` is
    shown once, in the tail of the next request. `delivered` is what reached the user; `reply` is what the model has
    written since its last calls. `cuts` counts the replies in a row that were cut by their length.
    `speaks_in_messages` tells that the surface shows whole messages as they come. `prompt` is nowhere in `view`.
    """

    input: TurnInput
    route: Route
    limits: Limits
    view: tuple[Message, ...]
    log: tuple[Message, ...]
    prompt: CompiledPrompt = NO_PROMPT
    delivered: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    nudge: str = ""
    reply: str = ""
    cuts: int = 0
    compactions: tuple[Compaction, ...] = ()
    speaks_in_messages: bool = False
    step: int = 0
    last: Completion | None = None
    status: Status = "capped"
    error: str | None = None

    @classmethod
    def begin(cls, input: TurnInput, route: Route, limits: Limits, *, speaks_in_messages: bool = False) -> TurnContext:
        view, log = (*input.history, input.message), (input.message,)
        return cls(input=input, route=route, limits=limits, view=view, log=log, speaks_in_messages=speaks_in_messages)

    @property
    def pending_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last model message that have no result yet."""
        return pending_calls(self.log)

    @property
    def last_results(self) -> tuple[ToolResult, ...]:
        """Results of the calls of the last step, in the order of the calls."""
        return last_results(self.log)

    @property
    def work_results(self) -> tuple[ToolResult, ...]:
        return tuple(result for message in self.log for result in message.tool_results if result.is_work)

    @property
    def previews(self) -> tuple[Preview, ...]:
        """The beginnings of what the latest work calls gave, for whoever judges the turn."""
        return previews(self.log)

    @property
    def said(self) -> tuple[str, ...]:
        """What the user was told by tools since their latest words."""
        return said(recent_results(self.log))

    @property
    def has_called(self) -> bool:
        """True when the last reply called tools."""
        return self.last is not None and bool(self.last.message.tool_calls)

    @property
    def said_in_a_row(self) -> int:
        """How many steps, from the last one back, held nothing but delivered texts of tools that say something."""
        return said_in_a_row(self.log) if self.has_called else 0

    @property
    def is_unfinished(self) -> bool:
        """True when the last reply was words and was cut by its length: the next one goes on with it."""
        return self.last is not None and self.last.finish == "length" and not self.has_called

    @property
    def only_spoke(self) -> bool:
        """True when the user was told something by tools since their latest words and nothing was done."""
        recent = recent_results(self.log)
        return bool(said(recent)) and not any(each.is_work and each.status != "refused" for each in recent)

    @property
    def closing_text(self) -> str:
        """What the model wrote last, if it stopped calling tools and the user is still to read it.

        Not to be read: what was said already; and, where messages are shown as they come, words beside a turn that
        was wholly spoken through tools, as long as it has them.
        """
        text = self.reply.strip()
        is_beside = self.speaks_in_messages and self.steps_left > 0 and self.only_spoke
        return "" if is_beside or any(text == each.strip() for each in self.said) else text

    @property
    def visible_text(self) -> str:
        """All that the user has seen or is about to see: delivered texts and the closing text, in order."""
        return "\n".join(text for text in (*self.delivered, self.closing_text) if text)

    @property
    def end_requested(self) -> bool:
        """True when the last step asks to end; not beside a call that failed, for the model has not seen that yet."""
        results = self.last_results if self.has_called else ()
        return any(each.ends_turn for each in results) and all(each.status == "ok" for each in results)

    @property
    def pushbacks(self) -> int:
        return sum(not verdict.done and verdict.on != "say" for verdict in self.verdicts)

    @property
    def steps_left(self) -> int:
        return self.limits.max_steps - self.step

    def answered(self, completion: Completion) -> TurnContext:
        """Count one step; an empty message is remembered as `last` and leaves no trace in the history."""
        message, is_cut = completion.message, completion.finish == "length"
        added = self if message.is_empty else self.appended(message)
        reply = "" if message.tool_calls else (self.reply if self.is_unfinished else "") + message.text
        cuts = self.cuts + 1 if is_cut else 0
        return replace(added, last=completion, nudge="", step=self.step + 1, reply=reply, cuts=cuts)

    def heard(self, message: Message) -> TurnContext:
        """Add words of the user; what the model wrote before them is no answer to them."""
        return replace(self.appended(message), last=None, reply="", cuts=0)

    def observed(self, message: Message) -> TurnContext:
        """Add one tool result; the results of a step stand in the order of its calls, whenever they come."""
        calls = next((m.tool_calls for m in reversed(self.log) if m.role == "assistant"), ())
        view, log = with_result(self.view, message, calls), with_result(self.log, message, calls)
        return replace(self, view=view, log=log)

    def told(self, text: str) -> TurnContext:
        """Count `text` as seen by the user."""
        return replace(self, delivered=(*self.delivered, text))

    def judged(self, verdict: Verdict) -> TurnContext:
        return replace(self, verdicts=(*self.verdicts, verdict), nudge="" if verdict.done else verdict.nudge)

    def ended(self, status: Status, error: str | None = None) -> TurnContext:
        return replace(self, status=status, error=error)

    def on_last_step(self) -> TurnContext:
        """Leave the turn one more step; a cap is only ever lowered."""
        most = min(self.limits.max_steps, self.step + 1)
        return replace(self, limits=replace(self.limits, max_steps=most))

    def refitted(self, view: tuple[Message, ...], compaction: Compaction) -> TurnContext:
        return replace(self, view=view, compactions=(*self.compactions, compaction))

    def record(self, finished: datetime, calls: dict[str, int], spent: dict[str, Spent]) -> Turn:
        """Return what is kept of the turn; `calls` and `spent` are by the purpose of its requests."""
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
            usage=sum((each.usage for each in spent.values()), Usage()),
            calls=calls,
            spent=spent,
            compactions=self.compactions,
            prompt=self.prompt.fingerprint,
        )

    def appended(self, message: Message) -> TurnContext:
        return replace(self, view=(*self.view, message), log=(*self.log, message))
