"""What lists of phrases hint at: words that announce work and do none of it. A hint is no proof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bumble_core.types.languages import LanguagePack

from .form import asks, exclaims, goes_on, quotes, repeats, sentences, size
from .phrases import Clause, Phrases

PROMISE, WILL, TASK, PAST, INTENT = "promise", "will", "task", "past", "intent"
PROGRESS, PRO_FORMA, ASSENT, FILLER = "progress", "pro_forma", "assent", "filler"
NO_PROMISE, REFUSAL, LETTER = "no_promise", "refusal", "letter"
WANTED, MESSAGE, WRITING = "wanted", "message", "writing"
GREETING, WISH, REMARK = "greeting", "wish", "remark"
NAMES = (
    *(PROMISE, WILL, TASK, PAST, INTENT, PROGRESS, PRO_FORMA, ASSENT, FILLER),
    *(NO_PROMISE, REFUSAL, LETTER, WANTED, MESSAGE, WRITING, GREETING, WISH, REMARK),
)
_AROUND = (FILLER, PRO_FORMA, ASSENT, PROGRESS)
_NEARLY_ALL = 0.8  # of a text, in letters
_MUCH = 0.35  # enough where the text ends with an announcement: what stands before it is talk about the work
_SOME = 0.1  # enough where, besides, the text is short: an answer does not end so
_SHORT = 200  # letters
_LONG = 2000  # letters that no announcement takes
_SALUTATION = 4  # words before it: a name and a title
_MAINLY = 0.7  # of a sentence: "one moment, please", not "boil it for one minute"
_ASIDE = 40  # letters behind a colon that may still belong to the announcement before it


@dataclass(frozen=True, slots=True)
class Hint:
    """Phrases that announce and that were found, and the share of the text, from 0 to 1, that says nothing else.

    `is_last` tells that nothing but pro-forma words follow the last of them, `is_plain` that this one does nothing but
    announce, `is_short` that the text can hold little else.
    """

    phrases: tuple[str, ...] = ()
    share: float = 0.0
    is_last: bool = False
    is_plain: bool = False
    is_short: bool = False

    @property
    def covers(self) -> bool:
        """True when the text does little but announce."""
        if not self.is_last:
            return bool(self.phrases) and self.share >= _NEARLY_ALL
        return self.share >= (_SOME if self.is_plain and self.is_short else _MUCH)


@dataclass(frozen=True, slots=True)
class _Sentence:
    text: str
    clauses: tuple[Clause, ...]

    @property
    def weight(self) -> int:
        return sum(clause.weight for clause in self.clauses)

    @property
    def is_free(self) -> bool:
        """True when it denies, or offers, and so announces nothing."""
        return self.has(NO_PROMISE)

    @property
    def wonders(self) -> bool:
        """True when it asks for more than applause."""
        return asks(self.text) and bool(self.clauses) and not self.clauses[-1].is_all(*_AROUND, PROMISE, REMARK)

    def has(self, name: str) -> bool:
        return any(clause.has(name) for clause in self.clauses)

    def covered(self, *names: str) -> int:
        return sum(clause.covered(*names) for clause in self.clauses)

    def is_all(self, *names: str) -> bool:
        return 0 < self.weight == self.covered(*names)

    def phrases(self, *names: str) -> tuple[str, ...]:
        return tuple(phrase for clause in self.clauses for phrase in clause.phrases(*names))

    def announced(self) -> tuple[str, ...]:
        """Return the phrases that announce."""
        return tuple(phrase for clause in self.clauses for phrase in _announced(clause))

    def paused(self) -> tuple[str, ...]:
        """Return the phrases of work that goes on, where it says little else."""
        return self.phrases(PROGRESS) if self.covered(*_AROUND) >= _MAINLY * self.weight else ()

    def vaguely_announced(self) -> tuple[str, ...]:
        """Return the phrases that mostly announce, where the clause does not tell what was or might be."""
        return tuple(
            match.phrase
            for clause in self.clauses
            for match in clause.matches
            if match.name == INTENT and match.language not in clause.languages(PAST)
        )


class Hints:
    """Looks phrases up in the packs of all languages at once: people and models mix them."""

    def __init__(self, packs: Iterable[LanguagePack]) -> None:
        self._phrases = Phrases(packs, NAMES, _AROUND)

    def announces(self, text: str, asked: str = "", *, loosely: bool = False) -> Hint:
        """Tell how much of a text announces work or says that it goes on.

        A sentence counts whole when it announces, for its object belongs to the announcement, or when it says little
        but that work goes on; behind a colon only a few words do. Of a pro-forma phrase only the words count, and
        exclamations are taken for talk. `loosely` takes words for an announcement that only mostly are one.

        Nothing is announced by a sentence that denies or offers, and in a text that asks for something, says that
        something is not so or not possible, or quotes what the user has not said, nor in a letter, a farewell, or what
        may be the message that was `asked` for.
        """
        if size(text) > _LONG:
            return Hint()
        request = self._phrases.clause(asked)
        spoken = self._phrases.clause(f"{asked}\n{text}").main_languages()
        said = tuple(_Sentence(each, self._phrases.clauses(each, spoken)) for each in sentences(text))
        wonders = any(each.wonders and not repeats(each.text, asked) for each in said)
        if wonders or any(each.has(REFUSAL) for each in said) or quotes(text, asked):
            return Hint()
        wants_work = any(request.has(name) for name in (WANTED, TASK, WRITING, MESSAGE))
        hint = _read(said, loosely=loosely and wants_work)
        if not hint.phrases or self._is_letter(text, said) or (request.has(MESSAGE) and _may_be_a_message(said)):
            return Hint()
        return hint

    def assents(self, text: str) -> bool:
        """Tell whether a text begins with a yes."""
        clauses = self._phrases.clauses(text)
        return bool(clauses) and clauses[0].is_all(ASSENT)

    def is_pro_forma(self, text: str) -> bool:
        """Tell whether a text does nothing but acknowledge."""
        return self._phrases.clause(text).is_all(PRO_FORMA)

    def is_small_talk(self, text: str) -> bool:
        """Tell whether a text is made of greetings and reactions alone."""
        return self._phrases.clause(text).is_all(GREETING, REMARK)

    def is_mostly_small_talk(self, text: str) -> bool:
        """Tell whether at least half of a text is greetings and reactions."""
        clause = self._phrases.clause(text)
        return 0 < clause.weight <= 2 * clause.covered(GREETING, REMARK)

    def _is_letter(self, text: str, said: tuple[_Sentence, ...]) -> bool:
        """Tell whether a text greets, wishes well or takes leave: it may be one that was to be written, or talk."""
        whole = self._phrases.clause(text)
        greets = any(
            match.name in (GREETING, WISH) and match.start <= _SALUTATION and not whole.is_around(match)
            for match in whole.matches
        )
        clauses = _clauses(said)
        opens = any(match.name == LETTER and match.start <= 1 for match in clauses[0].matches)
        signs = opens or any(2 * each.covered(LETTER) >= each.weight for each in clauses)
        return greets or signs or said[-1].is_all(GREETING)


def _read(said: tuple[_Sentence, ...], *, loosely: bool) -> Hint:
    """Read sentence by sentence what announces, and how much is said besides.

    What a sentence that goes on with a comma announces or denies holds for the next one too.
    """
    found: dict[str, None] = {}
    covered = 0
    is_last = is_plain = is_carried = is_free = goes_on_free = False
    for each in said:
        is_free = each.is_free or goes_on_free
        plain = () if is_free else each.announced()
        phrases = plain or (() if is_free else each.paused() or (each.vaguely_announced() if loosely else ()))
        found.update(dict.fromkeys(phrases))
        announces = bool(phrases) or (is_carried and not is_free)
        filled = each.weight if exclaims(each.text) else each.covered(*_AROUND)
        filled = max(filled, each.weight - _content(each)) if announces else filled
        covered += filled
        is_last = (announces or is_last) and (filled == each.weight)
        is_plain = bool(plain) if phrases else is_plain
        is_carried, goes_on_free = announces and goes_on(each.text), is_free and goes_on(each.text)
    weight = sum(each.weight for each in said)
    is_short = weight <= _SHORT and not any(letter.isdigit() for each in said for letter in each.text)
    return Hint(tuple(found), covered / max(1, weight), is_last, is_plain, is_short)


def _may_be_a_message(said: tuple[_Sentence, ...]) -> bool:
    """Tell whether a text neither begins with an acknowledgement nor speaks of writing."""
    return not _clauses(said)[0].is_all(*_AROUND) and not any(each.has(WRITING) for each in said)


def _clauses(said: tuple[_Sentence, ...]) -> list[Clause]:
    return [clause for each in said for clause in each.clauses]


def _announced(clause: Clause) -> tuple[str, ...]:
    """Return the phrases of a clause that announce: one that does alone, or who will do a work, in one language."""
    if phrases := clause.phrases(PROMISE):
        return phrases
    pairs = (clause.languages(WILL) & clause.languages(TASK)) - clause.languages(PAST)
    return tuple(match.phrase for match in clause.matches if match.name in (WILL, TASK) and match.language in pairs)


def _content(sentence: _Sentence) -> int:
    """Return the size of what a sentence that announces tells behind a colon, if that is more than an aside."""
    told = size(sentence.text.replace("：", ":").partition(":")[2])
    return told if told > _ASIDE else 0
