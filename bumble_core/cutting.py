"""The last resort when no phase helps: cut a view to fit, with a marker where something is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from .compaction import Change, groups, report
from .ports import TokenCounter
from .types.base import new_id
from .types.compaction import CompactionState
from .types.inference import ModelRef
from .types.messages import Message, Text, ToolResult

CUT_MARKER = "[Earlier messages were cut to fit the context window]"
_SHORTEST_OUTPUT = 200  # characters that are left of an output
_CHARS_PER_TOKEN = 3  # cautious: most outputs have more
_ATTEMPTS = 4


def cut_to_fit(state: CompactionState, counter: TokenCounter, head: int = 0) -> CompactionState:
    """Drop whole groups of messages until the request fits, the oldest first, and mark the place.

    The first `head` messages and summaries go after all others. A group is a call with its results, or one message.
    Messages that must stay and the last group stay; when that is still too much, the largest outputs among them are
    shortened. The result may not fit even so: ask `fits`.
    """
    messages = tuple(m for m in state.messages if not _is_marker(m))
    parts = groups(messages)
    dropped = _dropped(state, counter, parts, head)
    if dropped:
        place = min(dropped)
        marker = Message(id=new_id("cut"), role="user", parts=(Text(text=CUT_MARKER),), source="summary")
        kept: list[Message] = []
        for index, group in enumerate(parts):
            if index == place:
                kept.append(marker)
            if index not in dropped:
                kept += group
        messages = tuple(kept)
    elif len(messages) != len(state.messages):
        messages = state.messages
    model = state.models[0]
    excess = state.overhead + counter.count(messages, (), model) - state.limit + 1
    if excess > 0:
        spare = frozenset(m.id for m in messages if state.must_stay(m))
        messages = with_shorter_outputs(messages, excess, counter, model, spare)
    if messages == state.messages:
        return state
    tokens = state.overhead + counter.count(messages, (), model)
    if tokens >= state.tokens:  # the marker takes more than what it stands for
        return state
    done = report("cut", state, Change.between(state.messages, messages), tokens)
    return replace(state.with_messages(messages, tokens), reports=(*state.reports, done))


def with_shorter_outputs(
    messages: tuple[Message, ...],
    excess: int,
    counter: TokenCounter,
    model: ModelRef,
    spare: frozenset[str] = frozenset(),
) -> tuple[Message, ...]:
    """Cut the largest tool outputs, with a marker, until `excess` tokens are saved or all of them are short.

    `spare` names messages that are left as they are.
    """
    lengths = [len(r.content) for m in messages if m.id not in spare for r in m.tool_results]
    if not lengths or max(lengths) <= _SHORTEST_OUTPUT:
        return messages
    before = counter.count(messages, (), model)
    wanted, after = excess * _CHARS_PER_TOKEN, messages
    for _ in range(_ATTEMPTS):
        most = max(_SHORTEST_OUTPUT, _level(lengths, wanted))
        after = tuple(m if m.id in spare else _shortened(m, most) for m in messages)
        if before - counter.count(after, (), model) >= excess or most == _SHORTEST_OUTPUT:
            break
        wanted *= 2
    return after


def _level(lengths: Sequence[int], wanted: int) -> int:
    """Return the length to which the longest have to be cut to save `wanted` characters."""
    ordered, total = [*sorted(lengths, reverse=True), 0], 0
    for count, (length, following) in enumerate(pairwise(ordered), 1):
        total += length
        if total - count * following >= wanted:
            return (total - wanted) // count
    return 0


def _shortened(message: Message, most: int) -> Message:
    if message.role != "tool" or all(len(result.content) <= most for result in message.tool_results):
        return message
    parts = tuple(_cut(part, most) if isinstance(part, ToolResult) else part for part in message.parts)
    return message if parts == message.parts else message.model_copy(update={"parts": parts})


def _cut(result: ToolResult, most: int) -> ToolResult:
    whole = result.content
    marker = f"\n[Output cut to save context space: the first {most:,} of {len(whole):,} characters]"
    if len(whole) <= most + len(marker):
        return result
    return result.model_copy(update={"content": whole[:most] + marker})


def _dropped(state: CompactionState, counter: TokenCounter, parts: list[list[Message]], head: int) -> set[int]:
    """Choose the groups to drop, by their places."""
    model = state.models[0]
    sizes = [counter.count(tuple(group), (), model) for group in parts]
    tokens = state.overhead + sum(sizes) + counter.count((Message(role="user", parts=(), source="summary"),), (), model)
    pending, chosen = state.pending, set[int]()
    for index in _order(parts, head):
        if tokens < state.limit:
            break
        group = parts[index]
        stays = any(state.must_stay(m) or any(call.id in pending for call in m.tool_calls) for m in group)
        if not stays:
            tokens -= sizes[index]
            chosen.add(index)
    return chosen


def _order(parts: list[list[Message]], head: int) -> list[int]:
    """Return the places of all groups but the last, in the order in which they may go."""
    seen, first, summaries, others = 0, list[int](), list[int](), list[int]()
    for index, group in enumerate(parts[:-1]):
        if group[0].source == "summary":
            summaries.append(index)
        elif seen < head:
            first.append(index)
            seen += len(group)
        else:
            others.append(index)
    return [*others, *first, *summaries]


def _is_marker(message: Message) -> bool:
    return message.source == "summary" and message.text == CUT_MARKER
