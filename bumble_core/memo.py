"""Remember something per message: what was worked out once is not worked out again while the message lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from .types.messages import Message

T = TypeVar("T")


class _Alive(weakref.ref[Message]):
    """Knows the identity of its message when that is gone."""

    __slots__ = ("key",)
    key: int


class PerMessage(Generic[T]):
    """Gives what `work` gives for each message; a message that nobody holds any more is forgotten.

    Messages are told apart by identity: they never change, and comparing two long ones costs more than most work.
    `made` counts how often `work` was done.
    """

    def __init__(self, work: Callable[[Message], T]) -> None:
        self.made = 0
        self._work = work
        self._known: dict[int, T] = {}
        self._alive: dict[int, _Alive] = {}

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, messages: Sequence[Message]) -> list[T]:
        known = self._known
        try:
            return [known[id(message)] for message in messages]
        except KeyError:
            return [known[id(message)] if id(message) in known else self._added(message) for message in messages]

    def _added(self, message: Message) -> T:
        key = id(message)
        self.made += 1
        value = self._work(message)
        alive = _Alive(message, self._forget)
        alive.key = key
        self._alive[key], self._known[key] = alive, value
        return value

    def _forget(self, alive: _Alive) -> None:
        """Called before the memory of a message is given back, so no other message has its identity yet."""
        del self._known[alive.key], self._alive[alive.key]
