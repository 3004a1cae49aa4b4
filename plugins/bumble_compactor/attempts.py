"""Know when a model that wrote no usable summary is worth asking again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bumble_core.types.inference import ModelRef

_FIRST_WAIT, _LONGEST_WAIT = 2, 32  # compactions; doubled by each failure: a summary takes a small model half a minute
_MUCH_MORE = 2  # times as much to summarise is another task
_MOST_KEPT = 1000  # sessions and models

Key = tuple[str, ModelRef]


@dataclass(frozen=True, slots=True)
class _Failure:
    """Of `messages` messages no summary came; of `wait` compactions without one `left` are still to go by."""

    messages: int
    wait: int
    left: int


class Attempts:
    """Remembers failures per session and model, the latest only; a success forgets them."""

    def __init__(self) -> None:
        self._failures: dict[Key, _Failure] = {}

    def may_ask(self, key: Key, messages: int, *, is_new: bool) -> bool:
        """Tell whether to ask for a summary of so many messages; `is_new` counts this as one more compaction."""
        failure = self._failures.get(key)
        if failure is None or messages >= failure.messages * _MUCH_MORE:
            return True
        if is_new:
            self._failures[key] = replace(failure, left=max(0, failure.left - 1))
        return is_new and failure.left == 0

    def failed(self, key: Key, messages: int) -> None:
        former = self._failures.pop(key, None)
        wait = min(former.wait * 2, _LONGEST_WAIT) if former else _FIRST_WAIT
        self._failures[key] = _Failure(messages, wait, wait)
        if len(self._failures) > _MOST_KEPT:
            del self._failures[next(iter(self._failures))]

    def succeeded(self, key: Key) -> None:
        self._failures.pop(key, None)
