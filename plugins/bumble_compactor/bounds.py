"""Find the middle of a conversation: what lies between a protected head and a protected tail."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bumble_core import Message, with_shorter_outputs
from bumble_core.ports import TokenCounter
from bumble_core.types.compaction import Bounds, CompactionState

_SMALLEST_MIDDLE = 2
_ROOM_FOR_SUMMARY = 8  # an eighth of the limit is left for a summary when outputs of the tail give way


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """What is never summarised: the `first` oldest messages, and of the newest `last` or what the target holds."""

    first: int
    last: int
    counter: TokenCounter

    def tail(self, state: CompactionState) -> int:
        """Return where the protected tail begins; a call and its results are never separated."""
        messages, model = state.messages, state.models[0]
        place = max(0, len(messages) - self.last)
        tokens = self.counter.count(messages[place:], (), model)
        while place > 0:
            tokens += self.counter.count(messages[place - 1 : place], (), model)
            if tokens > state.target:
                break
            place -= 1
        while 0 < place < len(messages) and messages[place].role == "tool":
            place -= 1
        return place

    def head(self, messages: tuple[Message, ...]) -> int:
        """Return where the protected head ends: before the summary, after the results of its calls."""
        place = 0
        while place < min(self.first, len(messages)) and messages[place].source != "summary":
            place += 1
        while 0 < place < len(messages) and messages[place].role == "tool":
            place += 1
        return place

    def find(self, state: CompactionState) -> Bounds | None:
        """Return the bounds of the middle, or None when too little of it may leave to be worth a summary."""
        tail = self.tail(state)
        head = min(self.head(state.messages), tail)
        left = 0
        for message in state.messages[head:tail]:
            left += message.source != "summary" and not state.must_stay(message)
            if left >= _SMALLEST_MIDDLE:
                return Bounds(head=head, tail=tail)
        return None


class FindBounds:
    """Sets the bounds; where what they protect does not fit by itself, the largest outputs in it give way, marked."""

    def __init__(self, protected: Protected) -> None:
        self._protected = protected

    async def run(self, state: CompactionState) -> CompactionState:
        bounds = self._protected.find(state)
        tail = self._protected.tail(state) if bounds is None else bounds.tail
        head = min(self._protected.head(state.messages), tail)
        counter, model = self._protected.counter, state.models[0]
        kept = (*state.messages[:head], *state.messages[tail:])
        room = state.limit - (state.limit // _ROOM_FOR_SUMMARY if bounds else 0)
        excess = state.overhead + counter.count(kept, (), model) - room
        if excess > 0:
            spare = frozenset(message.id for message in state.messages if state.must_stay(message))
            shorter = with_shorter_outputs(state.messages[tail:], excess, counter, model, spare)
            if shorter != state.messages[tail:]:
                state = state.with_messages((*state.messages[:tail], *shorter))
        return replace(state, bounds=bounds)
