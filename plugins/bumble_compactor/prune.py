"""Clear tool outputs that are older than the protected tail: the largest and least needed part of a conversation."""

from __future__ import annotations

from operator import is_

from bumble_core import Message, ToolResult
from bumble_core.types.compaction import CompactionState

from .bounds import Protected

CLEARED = "[Old tool output cleared to save context space]"  # the words of Bumblebee's Cognition page
_SHORT = {"content": CLEARED}
_WITHOUT = {"content": CLEARED, "whole": "", "diff": ""}


class Prune:
    """Needs no model; the text stays in the log, and `originals` gives it to the phases that follow."""

    def __init__(self, protected: Protected) -> None:
        self._protected = protected

    async def run(self, state: CompactionState) -> CompactionState:
        tail = self._protected.tail(state)
        older = [m if m.role != "tool" or state.must_stay(m) else _cleared(m) for m in state.messages[:tail]]
        if all(map(is_, older, state.messages)):
            return state
        return state.with_messages((*older, *state.messages[tail:]))


def _cleared(message: Message) -> Message:
    parts = message.parts
    cleared = tuple([_without_output(part) if part.kind == "tool_result" else part for part in parts])
    return message if all(map(is_, cleared, parts)) else message.model_copy(update={"parts": cleared})


def _without_output(result: ToolResult) -> ToolResult:
    if len(result.content) <= len(CLEARED):
        return result
    return result.model_copy(update=_WITHOUT if result.whole or result.diff else _SHORT)
