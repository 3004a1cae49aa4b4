"""Make a conversation one that every server accepts: calls answered, nothing empty, roles alternating.

Pure functions on tuples of messages. What they add or rename depends on nothing but the messages before it, so the
beginning of a longer history is repaired to the same beginning.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import eq, is_

from .types.messages import Message, Part, Text, ToolCall, ToolResult

_UNANSWERED = "interrupted: this call has no result, and whether it took effect is not known"


def repair(messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Return a valid history and what was wrong with `messages`, which come back themselves when nothing was.

    Each call gets exactly one result, right after its message, in the order of the calls; results that only stood
    elsewhere are moved, which is not reported. A missing result is added as `interrupted`. Results without a call and
    second results are dropped, and so are assistant messages that say nothing. A call id that was used before is
    renamed together with its result.
    """
    history = GrowingHistory()
    history.add(messages)
    repaired, problems = history.repaired()
    if len(repaired) == len(messages) and all(map(is_, repaired, messages)):
        return messages, ()
    return repaired, problems


def merged(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Join neighbours of one role, results of tools aside, so that roles alternate.

    Texts are joined by a blank line, except one that continues the text before it; calls and pictures are kept. The
    joined message has the id of the first.
    """
    roles = [message.role for message in messages]
    if not any(map(eq, roles, roles[1:])) or all(one != other or one == "tool" for one, other in pairwise(roles)):
        return messages
    out: list[Message] = []
    for role, neighbours in groupby(messages, key=lambda message: message.role):
        group = list(neighbours)
        out.extend(group if role == "tool" or len(group) == 1 else [_joined(group)])
    return tuple(out)


def interrupted(call: ToolCall) -> Message:
    """Answer a call whose result will never come; the message's id follows from the call's."""
    digest = hashlib.sha256(call.id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    result = ToolResult(call_id=call.id, name=call.name, content=_UNANSWERED, status="interrupted")
    return Message(id=f"msg_{digest}", role="tool", parts=(result,), source="kernel")


@dataclass(slots=True)
class _Asked:
    """A call of the new history and its answer; `original` is the id that its result carries."""

    call: ToolCall
    original: str
    answer: Message | None = None


class GrowingHistory:
    """A history that is repaired while it grows; what was added once is not read again. See `repair`."""

    def __init__(self) -> None:
        self._problems: list[str] = []
        self._settled: list[Message] = []
        self._entries: deque[tuple[Message, list[_Asked]]] = deque()
        self._open: dict[str, deque[_Asked]] = {}
        self._used: set[str] = set()
        self._next_suffix: dict[str, int] = {}

    def add(self, messages: Iterable[Message]) -> None:
        """Let `messages` follow what was added before."""
        for message in messages:
            if message.role == "tool":
                self._add_results(message)
            else:
                self._add_message(message)
        while self._entries and all(one.answer is not None for one in self._entries[0][1]):
            self._settled += _with_answers(*self._entries.popleft())

    def repaired(self) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        """Return the valid history and what was wrong with what was added."""
        unanswered = [one.call for _, asked in self._entries for one in asked if one.answer is None]
        missing = (f"call `{call.id}` of `{call.name}`: no result; added `interrupted`" for call in unanswered)
        late = [message for entry in self._entries for message in _with_answers(*entry)]
        return (*self._settled, *late), (*self._problems, *missing)

    def _add_message(self, message: Message) -> None:
        kept = tuple(part for part in message.parts if _fits(part, message.role))
        if len(kept) < len(message.parts):
            self._problems.append(
                f"message `{message.id}`: a {message.role} message held calls or results; dropped them"
            )
            message = message.model_copy(update={"parts": kept})
        if message.role == "assistant" and message.is_empty:
            self._problems.append(f"message `{message.id}`: an assistant message without words or calls; dropped it")
            return
        asked = [_Asked(self._unique(call), call.id) for call in message.tool_calls]
        if any(one.call.id != one.original for one in asked):
            message = _with_calls(message, [one.call for one in asked])
        for one in asked:
            self._open.pop(one.original, None)
        for one in asked:
            self._open.setdefault(one.original, deque()).append(one)
        self._entries.append((message, asked))

    def _add_results(self, message: Message) -> None:
        if any(not isinstance(part, ToolResult) for part in message.parts) or len(message.parts) != 1:
            self._problems.append(f"message `{message.id}`: a tool message holds one result; took what it held apart")
        for index, result in enumerate(message.tool_results):
            waiting = self._open.get(result.call_id)
            if not waiting:
                self._problems.append(f"result of call `{result.call_id}`: no call waits for it; dropped it")
                continue
            one = waiting.popleft()
            one.answer = _answer(message, index, result, one.call)

    def _unique(self, call: ToolCall) -> ToolCall:
        if call.id not in self._used:
            self._used.add(call.id)
            return call
        number = self._next_suffix.get(call.id, 2)
        while f"{call.id}-{number}" in self._used:
            number += 1
        self._next_suffix[call.id] = number + 1
        renamed = call.model_copy(update={"id": f"{call.id}-{number}"})
        self._used.add(renamed.id)
        self._problems.append(f"call `{call.id}` of `{call.name}`: the id was used before; renamed it `{renamed.id}`")
        return renamed


def _with_answers(message: Message, asked: list[_Asked]) -> list[Message]:
    return [message, *(one.answer or interrupted(one.call) for one in asked)]


def _fits(part: Part, role: str) -> bool:
    return not isinstance(part, ToolResult) and (role == "assistant" or not isinstance(part, ToolCall))


def _with_calls(message: Message, calls: list[ToolCall]) -> Message:
    left = iter(calls)
    parts = tuple(next(left) if isinstance(part, ToolCall) else part for part in message.parts)
    return message.model_copy(update={"parts": parts})


def _answer(message: Message, index: int, result: ToolResult, call: ToolCall) -> Message:
    if len(message.parts) == 1 and result.call_id == call.id:
        return message
    answer = result.model_copy(update={"call_id": call.id})
    return message.model_copy(update={"id": f"{message.id}-{index + 1}" if index else message.id, "parts": (answer,)})


def _joined(group: list[Message]) -> Message:
    parts: list[Part] = []
    said = False
    for message in group:
        apart = said and not message.continues
        for part in message.parts:
            if not isinstance(part, Text):
                parts.append(part)
                continue
            words = f"\n\n{part.text}" if apart and part.text else part.text
            apart = apart and not part.text
            said = said or bool(part.text)
            parts.append(Text(text=words))
    return group[0].model_copy(
        update={"parts": _dense(parts), "pinned": any(message.pinned for message in group)},
    )


def _dense(parts: list[Part]) -> tuple[Part, ...]:
    """Make one text of neighbouring texts."""
    out: list[Part] = []
    for is_text, run in groupby(parts, key=lambda part: isinstance(part, Text)):
        members = list(run)
        if is_text:
            out.append(Text(text="".join(part.text for part in members if isinstance(part, Text))))
        else:
            out.extend(members)
    return tuple(out)
