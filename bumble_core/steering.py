"""Words of the user for a turn that already runs."""

from __future__ import annotations


class Steering:
    """Takes words until the turn stops listening; what it took is read or kept, never lost."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._is_open = True

    def __bool__(self) -> bool:
        return bool(self._words)

    def add(self, text: str) -> bool:
        """Add words; False means that the turn does not listen any more and nothing was added."""
        if self._is_open:
            self._words.append(text)
        return self._is_open

    def take(self) -> list[str]:
        """Return the words that have come, and forget them."""
        words, self._words = self._words, []
        return words

    def close(self) -> None:
        """Stop listening; what was added before is still to be taken."""
        self._is_open = False
