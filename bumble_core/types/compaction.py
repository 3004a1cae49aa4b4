"""A conversation on its way to fitting its window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from .base import Value
from .budget import Spent
from .inference import ModelRef
from .messages import Message

CompactionCause = Literal["threshold", "overflow", "asked"]


class Bounds(Value):
    """`messages[head:tail]` is the middle: the part that may be summarised away."""

    head: int
    tail: int


class PhaseReport(Value):
    """What one phase did: its effect in tokens, and how many messages it removed, shortened and added.

    `kept` is False when it was undone, and `note` says why. `first` and `last` are the ids of the oldest and the
    newest message that it removed.
    """

    phase: str
    tokens_before: int
    tokens_after: int
    kept: bool
    note: str = ""
    removed: int = 0
    shortened: int = 0
    added: int = 0
    first: str = ""
    last: str = ""


class Compaction(Value):
    """The entry of a session for one compaction. `spent` is what its requests took; None when there were none."""

    cause: CompactionCause
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    focus: str = ""
    reports: tuple[PhaseReport, ...] = ()
    spent: Spent | None = None

    @property
    def freed(self) -> int:
        return self.tokens_before - self.tokens_after

    @property
    def problems(self) -> tuple[str, ...]:
        """Why phases were undone, each reason once."""
        return tuple(dict.fromkeys(f"{each.phase}: {each.note}" for each in self.reports if not each.kept))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionState:
    """`tokens` counts the whole request; `limit` is the count that triggers compaction, `target` the tail to keep.

    `overhead` is the part of `tokens` that is not `messages`: system prompt, tools and tail. `window` is the size of
    the model's window, 0 where it is not known; `ceiling` is the count from which on no whole reply may fit beside the
    request.

    `keep` names messages that may not leave although they are not pinned: the input being answered. `originals`
    holds the log's text, by message id, of what the view shows shortened. `owner` and `models` are for requests
    that a phase makes; `focus` is what the user asked to keep.
    """

    owner: str
    models: tuple[ModelRef, ...]
    messages: tuple[Message, ...]
    tokens: int
    overhead: int = 0
    limit: int
    target: int
    window: int = 0
    ceiling: int = 0
    session: str = ""
    cause: CompactionCause = "threshold"
    keep: frozenset[str] = frozenset()
    originals: Mapping[str, Message] = field(default_factory=dict)
    focus: str = ""
    pass_number: int = 0
    bounds: Bounds | None = None
    reports: tuple[PhaseReport, ...] = ()

    @property
    def fits(self) -> bool:
        return self.tokens < self.limit

    @property
    def is_pressing(self) -> bool:
        """True when the window itself is at stake, and not only the threshold."""
        return self.tokens >= max(self.limit, self.ceiling)

    @property
    def pending(self) -> frozenset[str]:
        """The ids of calls that have no result."""
        calls = {call.id for m in self.messages if m.role == "assistant" for call in m.tool_calls}
        answered = {result.call_id for m in self.messages if m.role == "tool" for result in m.tool_results}
        return frozenset(calls - answered)

    def must_stay(self, message: Message) -> bool:
        return (message.pinned or message.id in self.keep) and message.source != "summary"

    def staying(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return those of `messages` that may not leave, each with the call or the results that belong to it."""
        keep = self.keep
        for one in messages:
            if one.pinned or one.id in keep:
                break
        else:
            return ()
        kept: list[Message] = []
        group: list[Message] = []
        for message in [*messages, None]:
            if message is not None and message.role == "tool":
                group.append(message)
                continue
            if any(map(self.must_stay, group)):
                kept += group
            group = [] if message is None else [message]
        return tuple(kept)

    def with_messages(self, messages: tuple[Message, ...], tokens: int | None = None) -> Self:
        """Return the state with other messages; who runs the phases counts them when `tokens` is not given."""
        return replace(self, messages=messages, bounds=None, tokens=self.tokens if tokens is None else tokens)
