"""Find the middle of a conversation: what lies between a protected head and a protected tail."""

from __future__ import annotations

from dataclasses import replace

from bumble_core.types.compaction import Bounds, CompactionState
from bumble_core.types.messages import Message

_SMALLEST_MIDDLE = 2


def find(messages: tuple[Message, ...], first: int, last: int) -> Bounds | None:
    """Return the bounds of the middle, or None when it is too small to be worth a summary.

    A call and its results are never separated: the head grows over results, the tail grows back to their call.
    """
    head, tail = min(first, len(messages)), max(0, len(messages) - last)
    while head < len(messages) and messages[head].role == "tool":
        head += 1
    while 0 < tail < len(messages) and messages[tail].role == "tool":
        tail -= 1
    return Bounds(head=head, tail=tail) if tail - head >= _SMALLEST_MIDDLE else None


class FindBounds:
    name = "bounds"

    def __init__(self, first: int, last: int) -> None:
        self._first, self._last = first, last

    async def run(self, state: CompactionState) -> CompactionState:
        return replace(state, bounds=find(state.messages, self._first, self._last))
