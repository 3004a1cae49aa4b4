"""Read the word lists on a message: which of them speak, how much of the message they cover, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bumble_core.languages import Lexicon, Match, words
from bumble_core.types.languages import LanguagePack

_PLEASANT = frozenset({"courtesy", "reaction", "talk"})
_LEADING = _PLEASANT | {"request", "opening", "about you"}  # what may stand before a verb that still opens its clause
_MERE_FORM = frozenset({"request", "opening", "question"})  # they tell how something is said, not what
_FEW_WORDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the lists found.

    `pleasant` is the share of the words that are greetings, thanks, reactions or small talk. `found` has for each
    list the phrases, `leading` those that open a clause.
    """

    pleasant: float
    found: dict[str, tuple[str, ...]]
    leading: dict[str, tuple[str, ...]]


class Vocabulary:
    """The word lists of every language at once: nobody needs to know in which a message is written."""

    def __init__(self, packs: Iterable[LanguagePack]) -> None:
        self._lexicon = Lexicon(packs)

    def read(self, clauses: Sequence[str]) -> Words:
        found: dict[str, list[str]] = {}
        leading: dict[str, list[str]] = {}
        pleasant, total = 0, 0
        for clause in clauses:
            matches = _outermost(self._lexicon.matches(clause))
            total += len(words(clause))
            pleasant += len(_covered(matches, _PLEASANT))
            before = _covered(matches, _LEADING)
            for match in matches:
                found.setdefault(match.name, []).append(match.phrase)
                if match.start - len([place for place in before if place < match.start]) < _FEW_WORDS:
                    leading.setdefault(match.name, []).append(match.phrase)
        return Words(pleasant=pleasant / total if total else 0.0, found=_unique(found), leading=_unique(leading))


def _outermost(matches: Sequence[Match]) -> list[Match]:
    """Leave out what stands within a longer phrase: nobody is dead who says "I'm dead"."""
    longest: dict[int, int] = {}
    for match in matches:
        if match.name not in _MERE_FORM:
            for place in range(match.start, match.end):
                longest[place] = max(longest.get(place, 0), match.end - match.start)
    return [
        match
        for match in matches
        if match.name in _MERE_FORM
        or all(longest[place] <= match.end - match.start for place in range(match.start, match.end))
    ]


def _covered(matches: Sequence[Match], names: frozenset[str]) -> set[int]:
    return {place for match in matches if match.name in names for place in range(match.start, match.end)}


def _unique(lists: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(dict.fromkeys(phrases)) for name, phrases in lists.items()}
