"""Find the middle of a conversation: what lies between a protected head and a protected tail."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bumble_core import Message, with_shorter_outputs
from bumble_core.ports import TokenCounter
from bumble_core.types.compaction import Bounds, CompactionState
from bumble_core.types.inference import ModelRef

_SMALLEST_MIDDLE = 2
_ROOM_FOR_SUMMARY = 8  # an eighth of the limit is left for a summary when outputs of the tail give way


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """What is never summarised: the `first` oldest messages, and of the newest `last` or what the target holds.

    Where the words of these alone leave no room for a summary only as many are protected as fill half of the room: in a
    small window there would be nothing to summarise, and every turn would be cut instead.
    """

    first: int
    last: int
    counter: TokenCounter

    def tail(self, state: CompactionState) -> int:
        """Return where the protected tail begins; a call and its results are never separated."""
        messages, model = state.messages, state.models[0]
        place = max(0, len(messages) - self.last)
        spoken = [self.counter.count((m,), (), model) for m in messages[place:] if m.role != "tool"]
        if sum(spoken) > (room := self._room(state)):
            return self._within(messages, room // 2, model)
        tokens = self.counter.count(messages[place:], (), model)
        while place > 0:
            tokens += self.counter.count(messages[place - 1 : place], (), model)
            if tokens > min(state.target, room):
                break
            place -= 1
        return _before_results(messages, place)

    def _within(self, messages: tuple[Message, ...], most: int, model: ModelRef) -> int:
        """Return where the newest messages of at most so many tokens begin, outputs not counted; the last is kept."""
        place = len(messages) - 1
        left = most - self.counter.count(messages[place:], (), model)
        while place > 0:
            message = messages[place - 1]
            left -= 0 if message.role == "tool" else self.counter.count((message,), (), model)
            if left < 0:
                break
            place -= 1
        return _before_results(messages, place)

    def _room(self, state: CompactionState) -> int:
        """Return how many tokens the tail may have: a summary has to fit beside it and the head."""
        head = state.messages[: self.head(state.messages)]
        taken = state.overhead + self.counter.count(head, (), state.models[0])
        return state.limit - taken - state.limit // _ROOM_FOR_SUMMARY

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


def _before_results(messages: tuple[Message, ...], place: int) -> int:
    while 0 < place < len(messages) and messages[place].role == "tool":
        place -= 1
    return place


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
