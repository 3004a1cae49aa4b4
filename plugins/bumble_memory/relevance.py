"""Find what fits a message by the words that both have, in any script, without a model.

Okapi BM25 (Robertson and Zaragoza 2009, with its usual k1 = 1.2 and b = 0.75) over words as Unicode has them. Scripts
without spaces count by pairs of characters. A long word counts by its first five letters too, so that `releases` and
`Veröffentlichungen` find `release` and `Veröffentlichung` without a stemmer for each language.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import groupby

_SATURATION = 1.2
_LENGTH_SHARE = 0.75
_STEM_CHARS = 5
_SHORTEST = 3  # letters; shorter words say little in any language that has spaces, and one of three says half as much
_HALF = 0.5
_FEW = 4  # texts; among fewer no word is common
_COMMON = 0.5  # a word in more than this share of the texts tells nothing
_DENSE = (  # scripts without spaces between words: Thai and Lao, Burmese, Khmer, kana, Han
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3040, 0x30FF),
    (0x3400, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)

Terms = Mapping[str, float]


def terms(text: str) -> dict[str, float]:
    """Count the words of a text, the beginnings of long ones, and pairs in scripts without spaces."""
    found: dict[str, float] = {}
    plain = unicodedata.normalize("NFKC", text).casefold()
    for is_word, run in groupby(plain, key=_is_of_word):
        if is_word:
            for is_dense, characters in groupby(run, key=_is_dense):
                stretch = "".join(characters)
                for term, weight in _pairs(stretch) if is_dense else _whole(stretch):
                    found[term] = found.get(term, 0.0) + weight
    return found


def weighted(parts: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the terms of several texts together, each as often as its text weighs."""
    found: dict[str, float] = {}
    for text, weight in parts:
        for term, count in terms(text).items():
            found[term] = found.get(term, 0.0) + count * weight
    return found


class Corpus:
    """Texts as their terms, ready to be ranked; made once for one state of the memory."""

    def __init__(self, texts: Sequence[Terms]) -> None:
        lengths = [sum(text.values()) for text in texts]
        mean = sum(lengths) / len(texts) if texts else 0.0
        self._total = len(texts)
        self._holding: dict[str, list[tuple[int, float]]] = {}
        for place, (text, length) in enumerate(zip(texts, lengths, strict=True)):
            norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length / mean) if mean else 0.0
            for term, count in text.items():
                share = count * (_SATURATION + 1) / (count + norm)
                self._holding.setdefault(term, []).append((place, share))

    def ranked(self, query: Terms, least: float = 0.0) -> list[int]:
        """Return the places of the texts that fit, the best first; equals stay in their order.

        What fits less than `least` of the best is left out: a small word that both happen to hold is no reason.
        """
        scores: dict[int, float] = {}
        for term, weight in query.items():
            holding = self._holding.get(term, ())
            if holding and (self._total < _FEW or len(holding) / self._total <= _COMMON):
                rarity = math.log(1 + (self._total - len(holding) + 0.5) / (len(holding) + 0.5))
                for place, share in holding:
                    scores[place] = scores.get(place, 0.0) + weight * rarity * share
        floor = least * max(scores.values(), default=0.0)
        return sorted((place for place, score in scores.items() if score >= floor), key=lambda at: (-scores[at], at))


def _whole(word: str) -> list[tuple[str, float]]:
    has_digit = any(map(str.isdigit, word))
    if len(word) < _SHORTEST and not has_digit:
        return []
    own = (word, 1.0 if len(word) > _SHORTEST or has_digit else _HALF)
    return [own, (f"{word[:_STEM_CHARS]}…", _HALF)] if len(word) >= _STEM_CHARS else [own]


def _pairs(stretch: str) -> list[tuple[str, float]]:
    return [(stretch[at : at + 2], 1.0) for at in range(len(stretch) - 1)] or [(stretch, 1.0)]


@lru_cache(maxsize=8192)
def _is_of_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


@lru_cache(maxsize=8192)
def _is_dense(character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in _DENSE)
