"""What lists of phrases hint at: words that announce work and do none of it. A hint is no proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bumble_core.languages import Lexicon, words
from bumble_core.types.languages import LanguagePack

from .form import asks, exclaims, goes_on, sentences, size

PROMISE, PROGRESS, PRO_FORMA, NO_PROMISE = "promise", "progress", "pro_forma", "no_promise"
GREETING, REACTION = "greeting", "reaction"
ASSENT = "assent"
_NEARLY_ALL = 0.8  # of a text, in letters
_SALUTATION = 4  # words before it: a name and a title
_MOST = 0.5  # enough where the text ends with an announcement as well: what stands before it is talk about the work


@dataclass(frozen=True, slots=True)
class Hint:
    """Phrases that announce and that were found, and the share of the text, from 0 to 1, that says nothing else.

    `is_last` tells that nothing but pro-forma words follow the last of them.
    """

    phrases: tuple[str, ...] = ()
    share: float = 0.0
    is_last: bool = False

    @property
    def covers(self) -> bool:
        """True when the text does little but announce."""
        return bool(self.phrases) and self.share >= (_MOST if self.is_last else _NEARLY_ALL)


class Hints:
    """Looks phrases up in the packs of all languages at once: people and models mix them."""

    def __init__(self, packs: Iterable[LanguagePack]) -> None:
        packs = tuple(packs)
        self._announcing = _lexicon(packs, PROMISE, PROGRESS)
        self._free = _lexicon(packs, NO_PROMISE)
        self._filling = _lexicon(packs, PRO_FORMA, ASSENT)
        self._pro_forma = _lexicon(packs, PRO_FORMA)
        self._greeting = _lexicon(packs, GREETING)
        self._small_talk = _lexicon(packs, GREETING, REACTION)

    def announces(self, text: str) -> Hint:
        """Tell how much of a text announces work or says that it goes on.

        A sentence counts whole when a promise stands in it, for its object belongs to the promise. One that asks
        something, or denies or offers rather than promises, does not. Of a pro-forma phrase only the words count, and
        exclamations are taken for talk.
        """
        found: dict[str, None] = {}
        covered, is_last, is_carried = 0, False, False
        for sentence in sentences(text):
            is_free = asks(sentence) or bool(self._free.matches(sentence))
            phrases = () if is_free else self._announcing.matches(sentence)
            found.update((match.phrase, None) for match in phrases)
            announces = bool(phrases) or (is_carried and not is_free)
            filled = size(sentence) if announces or exclaims(sentence) else _covered(self._filling, sentence)
            covered += filled
            is_last = announces or (is_last and filled == size(sentence))
            is_carried = announces and goes_on(sentence)
        if not found or self._is_letter(text):
            return Hint()
        return Hint(tuple(found), covered / size(text), is_last)

    def _is_letter(self, text: str) -> bool:
        """Tell whether a text greets somebody first: then it may well be one that was to be written."""
        return any(match.start <= _SALUTATION for match in self._greeting.matches(text))

    def is_pro_forma(self, text: str) -> bool:
        """Tell whether a text does nothing but acknowledge."""
        return 0 < size(text) == _covered(self._pro_forma, text)

    def is_small_talk(self, text: str) -> bool:
        """Tell whether a text is made of greetings and reactions alone."""
        return 0 < size(text) == _covered(self._small_talk, text)

    def has_small_talk(self, text: str) -> bool:
        """Tell whether a greeting or a reaction stands in a text."""
        return bool(self._small_talk.matches(text))


def _covered(lexicon: Lexicon, text: str) -> int:
    """Return the size of the words that belong to a phrase."""
    spoken, places = words(text), set[int]()
    for match in lexicon.matches(text):
        places.update(range(match.start, match.end))
    return sum(size(spoken[place]) for place in places)


def _lexicon(packs: Iterable[LanguagePack], *names: str) -> Lexicon:
    return Lexicon(
        LanguagePack(language=pack.language, lists={name: pack.lists.get(name, ()) for name in names}) for pack in packs
    )
