"""Clear tool outputs that are older than the protected tail: the largest and least needed part of a conversation."""

from __future__ import annotations

from bumble_core.types.compaction import CompactionState
from bumble_core.types.messages import Message, ToolResult

CLEARED = "[Old tool output cleared to save context space]"  # the words of Bumblebee's Cognition page


class Prune:
    name = "prune"

    def __init__(self, last: int) -> None:
        self._last = last

    async def run(self, state: CompactionState) -> CompactionState:
        cut = len(state.messages) - self._last
        messages = tuple(_cleared(m) if place < cut else m for place, m in enumerate(state.messages))
        return state if messages == state.messages else state.with_messages(messages)


def _cleared(message: Message) -> Message:
    if not any(len(result.content) > len(CLEARED) for result in message.tool_results):
        return message
    parts = tuple(
        part.model_copy(update={"content": CLEARED})
        if isinstance(part, ToolResult) and len(part.content) > len(CLEARED)
        else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": parts})
