"""What can be read from the log of a turn. Pure functions on its messages, the oldest first."""

from __future__ import annotations

from collections.abc import Mapping

from .base import Value
from .messages import Message, ResultStatus, ToolCall, ToolResult

_PREVIEW_CHARS = 280  # these two numbers are those of Bumblebee's Cognition page
_MOST_PREVIEWS = 8


class Preview(Value):
    """The beginning of what a work call gave."""

    tool: str
    status: ResultStatus
    text: str


def pending_calls(log: tuple[Message, ...]) -> tuple[ToolCall, ...]:
    """Return the calls of the last model message that have no result yet."""
    answered: set[str] = set()
    for message in reversed(log):
        if message.role == "assistant":
            return tuple(call for call in message.tool_calls if call.id not in answered)
        answered.update(result.call_id for result in message.tool_results)
    return ()


def last_results(log: tuple[Message, ...]) -> tuple[ToolResult, ...]:
    """Return the results that the log ends with, in the order of the calls."""
    found: list[ToolResult] = []
    for message in reversed(log):
        if message.role != "tool":
            break
        found[:0] = message.tool_results
    return tuple(found)


def recent_results(log: tuple[Message, ...]) -> tuple[ToolResult, ...]:
    """Return every result since the user's latest words."""
    found: list[ToolResult] = []
    for message in reversed(log):
        if message.role == "user":
            break
        found[:0] = message.tool_results
    return tuple(found)


def said(results: tuple[ToolResult, ...]) -> tuple[str, ...]:
    """Return what was delivered to the user through tools that say something."""
    return tuple(result.said for result in results if _is_said(result))


def said_in_a_row(log: tuple[Message, ...]) -> int:
    """Count the steps, from the last one back, that held nothing but texts which were delivered to the user."""
    steps, results = 0, list[ToolResult]()
    for message in reversed(log):
        results += message.tool_results
        if message.role == "user":
            break
        if message.role == "assistant":
            if not results or not all(map(_is_said, results)):
                break
            steps, results = steps + 1, []
    return steps


def previews(log: tuple[Message, ...]) -> tuple[Preview, ...]:
    """Return the beginnings of the latest results of work calls."""
    work = [result for message in log for result in message.tool_results if result.is_work]
    return tuple(
        Preview(tool=result.name, status=result.status, text=result.content[:_PREVIEW_CHARS])
        for result in work[-_MOST_PREVIEWS:]
    )


def observed(log: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    """Add a message; a result stands where the order of the calls before it wants it."""
    if message.role != "tool":
        return (*log, message)
    calls = next((earlier.tool_calls for earlier in reversed(log) if earlier.role == "assistant"), ())
    return with_result(log, message, calls)


def with_result(messages: tuple[Message, ...], message: Message, calls: tuple[ToolCall, ...]) -> tuple[Message, ...]:
    """Add a result where the order of `calls` wants it among the results that came before it."""
    order: Mapping[str, int] = {call.id: place for place, call in enumerate(calls)}
    (result,) = message.tool_results
    place, at = order.get(result.call_id, len(order)), len(messages)
    while at > 0 and messages[at - 1].role == "tool":
        (before,) = messages[at - 1].tool_results
        if order.get(before.call_id, -1) <= place:
            break
        at -= 1
    return (*messages[:at], message, *messages[at:])


def _is_said(result: ToolResult) -> bool:
    return bool(result.said) and result.status == "ok"
