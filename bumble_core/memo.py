"""Remember something per message: what was worked out once is not worked out again while the message lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from .types.messages import Message

T = TypeVar("T")


class PerMessage(Generic[T]):
    """Gives what `work` gives for each message; a message that nobody holds any more is forgotten.

    Messages are told apart by identity: they never change, and comparing two long ones costs more than most work.
    `made` counts how often `work` was done.
    """

    def __init__(self, work: Callable[[Message], T]) -> None:
        self.made = 0
        self._work = work
        self._known: dict[int, tuple[weakref.ref[Message], T]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, messages: Iterable[Message]) -> list[T]:
        known = self._known
        found = []
        for message in messages:
            kept = known.get(id(message))
            found.append(kept[1] if kept is not None and kept[0]() is message else self._added(message))
        return found

    def _added(self, message: Message) -> T:
        known, key = self._known, id(message)
        self.made += 1
        value = self._work(message)
        known[key] = (weakref.ref(message, lambda _: known.pop(key, None)), value)
        return value
