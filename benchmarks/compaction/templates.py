"""Fill templates by chance, the same way for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping

_SLOT = re.compile(r"\{(?:(?P<low>\d+)-(?P<high>\d+)|#(?P<hex>\d+)|(?P<word>[a-z_]+))\}")
_TRIES = 200


class Templates:
    """Fill `{slot}` with one of its words, `{10-99}` with a number, `{#7}` with as many hexadecimal digits.

    A word may be a template itself. What is in braces but neither is left alone. No text holds one of `forbidden`,
    or comes twice from `fresh`. The slots in `steady` keep their word from one `fresh` to the next.
    """

    def __init__(
        self, words: Mapping[str, str], steady: frozenset[str], forbidden: tuple[str, ...], rng: random.Random
    ) -> None:
        self._words = {slot: [word.strip() for word in text.split("|")] for slot, text in words.items()}
        self._forbidden = tuple(text.casefold() for text in forbidden)
        self._rng = rng
        self._said: set[tuple[str, str]] = set()
        self._steady = steady
        self._kept: dict[str, str] = {}

    def fill(self, template: str) -> str:
        """Fill one template; what is steady stays as it is."""
        return self._allowed(template, self._kept)

    def loose(self, template: str) -> str:
        """Fill one template with words of its own."""
        return self._allowed(template, None)

    def fresh(self, templates: tuple[tuple[str, str], ...]) -> tuple[str, str]:
        """Fill one of `templates` as it was not filled before."""
        for _ in range(_TRIES):
            self._kept = {}
            one, other = (self.fill(text) for text in self._rng.choice(templates))
            if (one, other) not in self._said:
                self._said.add((one, other))
                return one, other
        raise ValueError(f"`{templates[0][0]}` and the like: too few words to say something new")

    def _allowed(self, template: str, kept: dict[str, str] | None) -> str:
        for _ in range(_TRIES):
            text = self._filled(template, kept)
            if not any(answer in text.casefold() for answer in self._forbidden):
                return text
        raise ValueError(f"`{template}`: every filling holds an answer")

    def _filled(self, template: str, kept: dict[str, str] | None) -> str:
        return _SLOT.sub(lambda found: self._slot(found, kept), template)

    def _slot(self, found: re.Match[str], kept: dict[str, str] | None) -> str:
        if found["low"]:
            return str(self._rng.randint(int(found["low"]), int(found["high"])))
        if found["hex"]:
            return "".join(self._rng.choice("0123456789abcdef") for _ in range(int(found["hex"])))
        slot = found["word"]
        if slot not in self._words:
            return found[0]
        if kept is None or slot not in self._steady:
            return self._filled(self._rng.choice(self._words[slot]), kept)
        return kept.setdefault(slot, self._filled(self._rng.choice(self._words[slot]), kept))
