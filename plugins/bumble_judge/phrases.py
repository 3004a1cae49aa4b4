"""Read what stands in a clause: phrases of lists, anywhere in it or only where it opens or ends."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from bumble_core.languages import Lexicon, Match, words
from bumble_core.types.languages import LanguagePack

from .form import size

_CLAUSE_END = re.compile(r"[,،;؛:：—–()«»\"“”]|(?<=\s)-(?=\s)|(?<=[，、；])")
_OPENS, _ENDS = "^", "$"
_MUCH_OF = 0.5


@dataclass(frozen=True, slots=True)
class Clause:
    """A run of words without a mark between them, and the phrases in it.

    `around` are the places of small words that may stand around what matters.
    """

    words: tuple[str, ...]
    matches: tuple[Match, ...]
    around: frozenset[int] = frozenset()

    @property
    def weight(self) -> int:
        """The size of its words as they are compared: what is drawn out, as in "sooo", counts once."""
        return sum(map(size, self.words))

    def phrases(self, *names: str) -> tuple[str, ...]:
        return tuple(match.phrase for match in self.matches if match.name in names)

    def has(self, name: str) -> bool:
        return any(match.name == name for match in self.matches)

    def languages(self, name: str) -> frozenset[str]:
        """Return the languages in whose list of this name a phrase was found."""
        return frozenset(match.language for match in self.matches if match.name == name)

    def main_languages(self) -> frozenset[str]:
        """Return the languages of which the lists cover half of what any language's do: a word may be of several."""
        covered = {
            language: sum(size(self.words[place]) for place in _places_in(self.matches, language))
            for language in {match.language for match in self.matches}
        }
        return frozenset(language for language, some in covered.items() if some >= _MUCH_OF * max(covered.values()))

    def is_around(self, match: Match) -> bool:
        return self.around.issuperset(range(match.start, match.end))

    def covered(self, *names: str) -> int:
        """Return the size of the words that belong to a phrase of these lists."""
        return sum(size(self.words[place]) for place in _places(self.matches, names))

    def is_all(self, *names: str) -> bool:
        """Tell whether it holds words, and none but those of these lists."""
        return 0 < self.weight == self.covered(*names)


class Phrases:
    """The lists of some names. In them `^go` counts only where a clause opens, `go$` only where it ends.

    Words of the lists `around` may stand before an opening and behind an end.
    """

    def __init__(self, packs: Iterable[LanguagePack], names: Iterable[str], around: Iterable[str]) -> None:
        self._around = frozenset(around)
        wanted = tuple(names)
        self._lexicon = Lexicon(
            LanguagePack(language=pack.language, lists=_by_place(pack, wanted))
            for pack in packs
            if any(pack.lists.get(name) for name in wanted)
        )

    def clause(self, text: str, languages: Collection[str] = ()) -> Clause:
        """Return a whole text as one clause, with the phrases of all languages or of these."""
        spoken = words(text)
        found = [each for each in self._lexicon.matches(text) if not languages or each.language in languages]
        around = _places(found, self._around)
        inner = [place for place in range(len(spoken)) if place not in around]
        opening, ending = (inner[0], inner[-1] + 1) if inner else (0, len(spoken))
        return Clause(spoken, tuple(_in_place(found, opening, ending)), around)

    def clauses(self, text: str, languages: Collection[str] = ()) -> tuple[Clause, ...]:
        """Return the clauses of a text, as far as their marks show them."""
        return tuple(self.clause(piece, languages) for piece in _CLAUSE_END.split(text) if words(piece))


def _by_place(pack: LanguagePack, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the lists with their anchored phrases apart, under a name that ends with the anchors."""
    lists: dict[str, list[str]] = {}
    for name in names:
        for phrase in pack.lists.get(name, ()):
            anchors = _OPENS * phrase.startswith(_OPENS) + _ENDS * phrase.endswith(_ENDS)
            lists.setdefault(name + anchors, []).append(phrase.removeprefix(_OPENS).removesuffix(_ENDS))
    return {name: tuple(phrases) for name, phrases in lists.items()}


def _in_place(found: Iterable[Match], opening: int, ending: int) -> Iterator[Match]:
    """Yield the matches that stand where they may, under the plain names of their lists."""
    for match in found:
        name = match.name.rstrip(_OPENS + _ENDS)
        anchors = match.name[len(name) :]
        if (_OPENS in anchors and match.start > opening) or (_ENDS in anchors and match.end < ending):
            continue
        yield Match(name, match.language, match.phrase, match.start, match.end)


def _places(found: Iterable[Match], names: Collection[str]) -> frozenset[int]:
    return frozenset(place for match in found if match.name in names for place in range(match.start, match.end))


def _places_in(found: Iterable[Match], language: str) -> frozenset[int]:
    return frozenset(place for match in found if match.language == language for place in range(match.start, match.end))
