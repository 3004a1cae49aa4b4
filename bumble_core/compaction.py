"""The laws that every compaction is held to, and the last resort when none of it helps."""

from __future__ import annotations

from collections.abc import Sequence

from .ports import TokenCounter
from .types.compaction import CompactionState
from .types.messages import Message, Text

CUT_MARKER = "[Earlier messages were cut to fit the context window]"


def broken_law(state: CompactionState, after: Sequence[Message]) -> str | None:
    """Name the first law that `after` breaks, or None.

    Pinned messages and the input being answered stay; survivors keep their order; a call and its result leave
    together; every message has its own id.
    """
    before, kept = state.messages, {message.id for message in after}
    if len(kept) != len(after):
        return "two messages have one id"
    if lost := [message.id for message in before if state.must_stay(message) and message.id not in kept]:
        return f"message `{lost[0]}` must stay and was dropped"
    order = [message.id for message in before if message.id in kept]
    survivors = set(order)
    if order != [message.id for message in after if message.id in survivors]:
        return "messages changed their order"
    calls = {call.id for message in after for call in message.tool_calls}
    results = {result.call_id for message in after for result in message.tool_results}
    answered = {result.call_id for message in before for result in message.tool_results}
    pending = {call.id for message in before for call in message.tool_calls} - answered
    if pending - calls:
        return f"pending tool call `{min(pending - calls)}` was dropped"
    if orphans := (calls ^ results) - pending:
        return f"tool call `{min(orphans)}` lost its other half"
    return None


def cut_to_fit(state: CompactionState, counter: TokenCounter) -> CompactionState:
    """Drop whole groups of messages from the oldest on until the request fits, and mark the place.

    A group is a call with its results, or one message. Messages that must stay stay, so the result may still not fit:
    ask `fits`.
    """
    model = state.models[0]
    groups = _groups(state.messages)
    sizes = [counter.count(group, (), model) for group in groups]
    marker = Message(id="cut", role="user", parts=(Text(text=CUT_MARKER),), source="summary")
    tokens = state.overhead + sum(sizes) + counter.count((marker,), (), model)
    kept: list[tuple[Message, ...]] = []
    place: int | None = None
    for group, size in zip(groups, sizes, strict=True):
        protected = any(state.must_stay(m) for m in group) or group is groups[-1]
        if tokens >= state.limit and not protected:
            tokens -= size
            place = len(kept) if place is None else place
        else:
            kept.append(group)
    if place is None:
        return state
    messages = tuple(m for group in (*kept[:place], (marker,), *kept[place:]) for m in group)
    return _recounted(state, messages, counter)


def _recounted(state: CompactionState, messages: tuple[Message, ...], counter: TokenCounter) -> CompactionState:
    return state.with_messages(messages, state.overhead + counter.count(messages, (), state.models[0]))


def _groups(messages: tuple[Message, ...]) -> list[tuple[Message, ...]]:
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "tool" and groups:
            groups[-1].append(message)
        else:
            groups.append([message])
    return [tuple(group) for group in groups]
