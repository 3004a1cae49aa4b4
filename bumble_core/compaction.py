"""The laws that every compaction is held to.

They are checked on what changed only: the beginning and the end that two views share cost a comparison each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .types.compaction import CompactionState, PhaseReport
from .types.messages import Message, Text, ToolCall, ToolResult

Messages = Sequence[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What lies between the shared beginning and the shared end; `start` is where it begins.

    `left` holds those of its messages that stayed, before and after; where no message came or went only the pairs that
    differ, and `is_in_place` is True.
    """

    start: int
    removed: Messages = ()
    added: Messages = ()
    left: Sequence[tuple[Message, Message]] = ()
    is_in_place: bool = False
    is_ordered: bool = True

    @classmethod
    def between(cls, before: Messages, after: Messages) -> Change:
        start, shortest = 0, min(len(before), len(after))
        while start < shortest and before[start] is after[start]:
            start += 1
        end = 0
        while end < shortest - start and before[-1 - end] is after[-1 - end]:
            end += 1
        gone, come = before[start : len(before) - end], after[start : len(after) - end]
        if len(gone) == len(come):
            pairs = [(one, other) for one, other in zip(gone, come, strict=True) if one is not other]
            if all(one.id == other.id for one, other in pairs):
                return cls(start=start, left=pairs, is_in_place=True)
        by_id = {message.id: message for message in come}
        removed = [message for message in gone if message.id not in by_id]
        left: list[tuple[Message, Message]] = []
        if len(removed) < len(gone):
            left = [(message, by_id[message.id]) for message in gone if message.id in by_id]
        stayed = [message.id for message, _ in left]
        known = frozenset(stayed)
        return cls(
            start=start,
            removed=removed,
            added=[message for message in come if message.id not in known],
            left=left,
            is_ordered=stayed == [message.id for message in come if message.id in known],
        )


def broken_law(state: CompactionState, after: Messages, change: Change | None = None) -> str | None:
    """Name the first law that `after` breaks, or None. `change` is what lies between, where that is known.

    Pinned messages and the input being answered stay as they are; survivors keep their order, role and source; a call
    and its result stand and leave together, and pending calls stay; what is added is a summary or the kernel's word;
    every message has its own id.
    """
    change = change or Change.between(state.messages, after)
    if not change.is_in_place and len({message.id for message in after}) != len(after):
        return "two messages have one id"
    return (
        _lost(state, change)
        or _disordered(change)
        or _invented(change)
        or _torn_apart(state, change)
        or (None if change.is_in_place else _out_of_place(after))
    )


def report(phase: str, state: CompactionState, change: Change, tokens: int) -> PhaseReport:
    """Say what a phase did that is kept."""
    removed = change.removed
    return PhaseReport(
        phase=phase,
        tokens_before=state.tokens,
        tokens_after=tokens,
        kept=True,
        removed=len(removed),
        shortened=sum([one is not other for one, other in change.left]),
        added=len(change.added),
        first=removed[0].id if removed else "",
        last=removed[-1].id if removed else "",
    )


def groups(messages: Iterable[Message]) -> list[list[Message]]:
    """Part messages into calls with their results and single messages."""
    found: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and found:
            found[-1].append(message)
        else:
            found.append([message])
    return found


def _lost(state: CompactionState, change: Change) -> str | None:
    kept = state.keep
    for message in change.removed:
        if (message.pinned or message.id in kept) and state.must_stay(message):
            return f"message `{message.id}` must stay and was dropped"
    for message, other in change.left:
        if (message.pinned or message.id in kept) and state.must_stay(message) and message != other:
            return f"message `{message.id}` must stay and was changed"
    return None


def _disordered(change: Change) -> str | None:
    if not change.is_ordered:
        return "messages changed their order"
    for message, other in change.left:
        if message.role != other.role or message.source != other.source:
            return f"message `{message.id}` changed its role or source"
    return None


def _invented(change: Change) -> str | None:
    for message in change.added:
        if message.source not in {"summary", "kernel"}:
            return f"message `{message.id}` was added as words of the {message.source}"
    return None


def _torn_apart(state: CompactionState, change: Change) -> str | None:
    calls, results = _ids([*change.removed, *[message for message, _ in change.left]])
    calls_left, results_left = _ids([*change.added, *[message for _, message in change.left]])
    if added := (calls_left - calls) | (results_left - results):
        return f"tool call `{min(added)}` was added"
    lost_calls, lost_results = calls - calls_left, results - results_left
    if lost_calls == lost_results:
        return None
    odd = min(lost_calls ^ lost_results)
    if odd in state.pending:
        return f"pending tool call `{odd}` was dropped"
    return f"tool call `{odd}` lost its other half"


def _out_of_place(after: Messages) -> str | None:
    before: Message | None = None
    for message in after:
        if message.role == "tool" and (before is None or (before.role != "tool" and not before.tool_calls)):
            return f"result `{message.id}` does not follow its call"
        before = message
    return None


def _ids(messages: Messages) -> tuple[set[str], set[str]]:
    parts = [part for message in messages for part in message.parts if not isinstance(part, Text)]
    calls = {part.id for part in parts if isinstance(part, ToolCall)}
    return calls, {part.call_id for part in parts if isinstance(part, ToolResult)}
