"""Estimate how intense a message is from its form alone, so in any language.

| sign | counts |
| --- | --- |
| exclamation marks | 0.1 each, at most 0.4 |
| `?!` or `!?`, three question marks in a row | 0.15 |
| capitals: over 60 % of at least eight letters | 0.5 |
| emphasis: `*so*`, `**so**`, `_so_`, a letter drawn out as in "sooo" | 0.1 each, at most 0.2 |
| emoji | 0.05 each, at most 0.2 |

Added up and cut at 1. Scripts without capitals lack that sign, so that shouting weighs less there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bumble_core.types.turn import TurnInput

INTENSITY = "intensity"

EMOJI = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55\u203c\u2049\u3030\u303d]")
_EXCLAMATION = re.compile("[!！¡‼]")
_STUNNED = re.compile(r"[?？؟]\s*[!！]|[!！]\s*[?？؟]|[?？؟]{3}")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}[^\W\d_][^*\n]{0,80}\*{1,2}(?![\w*])|(?<!\w)_[^\W\d_][^_\n]{0,80}_(?!\w)")
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2}")
_LOOKED_AT = 4000  # characters; a longer text is not more intense
_FEWEST_LETTERS = 8


class TextIntensity:
    """Reads `intensity` from the text, between 0 and 1."""

    async def read(self, input: TurnInput) -> Mapping[str, float]:
        return {INTENSITY: intensity(input.message.text)}


def intensity(text: str) -> float:
    """Return how intense the text looks, between 0 and 1."""
    text = text[:_LOOKED_AT]
    marks = min(0.4, 0.1 * len(_EXCLAMATION.findall(text)))
    stunned = 0.15 if _STUNNED.search(text) else 0.0
    letters = [character for character in text if character.isupper() or character.islower()]
    shouted = len(letters) >= _FEWEST_LETTERS and sum(map(str.isupper, letters)) > 0.6 * len(letters)
    emphasis = min(0.2, 0.1 * (len(_EMPHASIS.findall(text)) + len(_DRAWN_OUT.findall(text))))
    emoji = min(0.2, 0.05 * len(EMOJI.findall(text)))
    return min(1.0, marks + stunned + (0.5 if shouted else 0.0) + emphasis + emoji)
