"""What lists of phrases hint at: words that announce work and do none of it. A hint is no proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bumble_core.languages import Lexicon, Match, words
from bumble_core.types.languages import LanguagePack

from .form import asks, exclaims, goes_on, sentences, size

PROMISE, PROGRESS, PRO_FORMA, NO_PROMISE = "promise", "progress", "pro_forma", "no_promise"
GREETING, REMARK = "greeting", "remark"
ASSENT, LETTER, INTENT = "assent", "letter", "intent"
_NAMES = (PROMISE, INTENT, PROGRESS, PRO_FORMA, ASSENT, NO_PROMISE, LETTER, GREETING, REMARK)
_NEARLY_ALL = 0.8  # of a text, in letters
_SALUTATION = 4  # words before it: a name and a title
_MAINLY = 0.7  # of a sentence: "one moment, please", not "boil it for one minute"
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
        wanted = [
            (pack.language, {name: pack.lists[name] for name in _NAMES if pack.lists.get(name)}) for pack in packs
        ]
        self._lexicon = Lexicon(LanguagePack(language=language, lists=lists) for language, lists in wanted if lists)

    def announces(self, text: str, *, loosely: bool = False) -> Hint:
        """Tell how much of a text announces work or says that it goes on.

        A sentence counts whole when a promise stands in it, for its object belongs to the promise, or when it says
        little but that work goes on. One that asks something, or denies or offers rather than promises, does not. Of
        a pro-forma phrase only the words count, and exclamations are taken for talk. `loosely` takes words for a
        promise that only mostly are one. A letter or a farewell announces nothing.
        """
        promising = (PROMISE, INTENT) if loosely else (PROMISE,)
        found: dict[str, None] = {}
        covered, is_last, is_carried = 0, False, False
        for sentence in sentences(text):
            is_free = asks(sentence) or bool(self._found(sentence, NO_PROMISE))
            phrases = () if is_free else self._found(sentence, *promising) or self._pausing(sentence)
            found.update((match.phrase, None) for match in phrases)
            announces = bool(phrases) or (is_carried and not is_free)
            filled = (
                _weight(sentence) if announces or exclaims(sentence) else self._covered(sentence, PRO_FORMA, ASSENT)
            )
            covered += filled
            is_last = announces or (is_last and filled == _weight(sentence))
            is_carried = announces and goes_on(sentence)
        if not found or self._is_letter(text):
            return Hint()
        return Hint(tuple(found), covered / _weight(text), is_last)

    def _pausing(self, sentence: str) -> tuple[Match, ...]:
        """Return the phrases of work that goes on, where the sentence says little else."""
        found = self._found(sentence, PROGRESS)
        said = self._covered(sentence, PROGRESS) + self._covered(sentence, PRO_FORMA, ASSENT)
        return found if said >= _MAINLY * _weight(sentence) else ()

    def _is_letter(self, text: str) -> bool:
        """Tell whether a text greets somebody or takes leave: it may be one that was to be written, or a farewell."""
        greets = any(match.start <= _SALUTATION for match in self._found(text, GREETING))
        last = sentences(text)[-1]
        return greets or bool(self._found(text, LETTER)) or 0 < _weight(last) == self._covered(last, GREETING)

    def is_pro_forma(self, text: str) -> bool:
        """Tell whether a text does nothing but acknowledge."""
        return 0 < _weight(text) == self._covered(text, PRO_FORMA)

    def is_small_talk(self, text: str) -> bool:
        """Tell whether a text is made of greetings and reactions alone."""
        return 0 < _weight(text) == self._covered(text, GREETING, REMARK)

    def is_mostly_small_talk(self, text: str) -> bool:
        """Tell whether at least half of a text is greetings and reactions."""
        return 0 < _weight(text) <= 2 * self._covered(text, GREETING, REMARK)

    def _found(self, text: str, *names: str) -> tuple[Match, ...]:
        return tuple(match for match in self._lexicon.matches(text) if match.name in names)

    def _covered(self, text: str, *names: str) -> int:
        """Return the size of the words that belong to a phrase of these lists."""
        spoken, places = words(text), set[int]()
        for match in self._found(text, *names):
            places.update(range(match.start, match.end))
        return sum(size(spoken[place]) for place in places)


def _weight(text: str) -> int:
    """Return the size of the words of a text as they are compared: what is drawn out, as in "sooo", counts once."""
    return sum(map(size, words(text)))
