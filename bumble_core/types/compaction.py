"""A conversation on its way to fitting its window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from .base import Value
from .inference import ModelRef
from .messages import Message


class Bounds(Value):
    """`messages[head:tail]` is the middle: the part that may be summarised away."""

    head: int
    tail: int


class PhaseReport(Value):
    """What one phase did, in tokens; `kept` is False when it was undone, and `note` says why."""

    phase: str
    tokens_before: int
    tokens_after: int
    kept: bool
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionState:
    """`tokens` counts the whole request; `limit` is the count that triggers compaction, `target` the tail to keep.

    `overhead` is the part of `tokens` that is not `messages`: system prompt, tools and tail.

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
    def summary(self) -> Message | None:
        return next((m for m in self.messages if m.source == "summary"), None)

    def must_stay(self, message: Message) -> bool:
        return message.source != "summary" and (message.pinned or message.id in self.keep)

    def with_messages(self, messages: tuple[Message, ...], tokens: int | None = None) -> Self:
        """Return the state with other messages; who runs the phases counts them when `tokens` is not given."""
        return replace(self, messages=messages, bounds=None, tokens=self.tokens if tokens is None else tokens)
