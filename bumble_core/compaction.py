"""The laws that every compaction is held to.

They are checked on what changed only: the beginning and the end that two views share cost a comparison each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .types.compaction import CompactionState, PhaseReport
from .types.messages import Message

Messages = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Change:
    """What lies between the shared beginning and the shared end; `start` is where it begins.

    `in_place` holds the pairs that differ where no message came or went; None where some did.
    """

    start: int
    gone: Messages
    come: Messages
    in_place: tuple[tuple[Message, Message], ...] | None = None

    @classmethod
    def between(cls, before: Messages, after: Messages) -> Change:
        start, shortest = 0, min(len(before), len(after))
        while start < shortest and before[start] is after[start]:
            start += 1
        end = 0
        while end < shortest - start and before[-1 - end] is after[-1 - end]:
            end += 1
        gone, come = before[start : len(before) - end], after[start : len(after) - end]
        if len(before) != len(after):
            return cls(start, gone, come)
        pairs = tuple([pair for pair in zip(gone, come, strict=True) if pair[0] is not pair[1]])
        return cls(start, gone, come, pairs if all(one.id == other.id for one, other in pairs) else None)


def broken_law(state: CompactionState, after: Messages, change: Change | None = None) -> str | None:
    """Name the first law that `after` breaks, or None. `change` is what lies between, where that is known.

    Pinned messages and the input being answered stay as they are; survivors keep their order, role and source; a call
    and its result stand and leave together, and pending calls stay; what is added is a summary or the kernel's word;
    every message has its own id.
    """
    change = change or Change.between(state.messages, after)
    if change.in_place is not None:
        gone = [one for one, _ in change.in_place]
        come = [other for _, other in change.in_place]
        change = Change(change.start, gone, come)
        return _lost(state, change) or _disordered(change) or _torn_apart(state, change)
    if len({message.id for message in after}) != len(after):
        return "two messages have one id"
    return (
        _lost(state, change)
        or _disordered(change)
        or _invented(change)
        or _torn_apart(state, change)
        or _out_of_place(after)
    )


def report(phase: str, state: CompactionState, change: Change, tokens: int) -> PhaseReport:
    """Say what a phase did that is kept."""
    removed: list[str] = []
    shortened, added = len(change.in_place or ()), 0
    if change.in_place is None:
        come = {message.id: message for message in change.come}
        removed = [message.id for message in change.gone if message.id not in come]
        left = [message for message in change.gone if message.id in come]
        shortened = sum(come[message.id] is not message for message in left)
        added = len(come) - len(left)
    return PhaseReport(
        phase=phase,
        tokens_before=state.tokens,
        tokens_after=tokens,
        kept=True,
        removed=len(removed),
        shortened=shortened,
        added=added,
        first=removed[0] if removed else "",
        last=removed[-1] if removed else "",
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
    come = {message.id: message for message in change.come}
    for message in change.gone:
        if (message.pinned or message.id in state.keep) and message.source != "summary":
            left = come.get(message.id)
            if left is None:
                return f"message `{message.id}` must stay and was dropped"
            if left is not message and left != message:
                return f"message `{message.id}` must stay and was changed"
    return None


def _disordered(change: Change) -> str | None:
    ids = {message.id for message in change.come}
    place = {message.id: index for index, message in enumerate(change.gone) if message.id in ids}
    last = -1
    for message in change.come:
        index = place.get(message.id)
        if index is None:
            continue
        if index < last:
            return "messages changed their order"
        last = index
        former = change.gone[index]
        if message is not former and (message.role, message.source) != (former.role, former.source):
            return f"message `{message.id}` changed its role or source"
    return None


def _invented(change: Change) -> str | None:
    added = [message for message in change.come if message.source not in {"summary", "kernel"}]
    known = {message.id for message in change.gone} if added else set()
    for message in added:
        if message.id not in known:
            return f"message `{message.id}` was added as words of the {message.source}"
    return None


def _torn_apart(state: CompactionState, change: Change) -> str | None:
    calls, results = _ids(change.gone)
    calls_left, results_left = _ids(change.come)
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
    calls: set[str] = set()
    results: set[str] = set()
    for message in messages:
        for part in message.parts:
            if part.kind == "tool_result":
                results.add(part.call_id)
            elif part.kind == "tool_call":
                calls.add(part.id)
    return calls, results
