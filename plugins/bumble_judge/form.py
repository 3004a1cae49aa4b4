"""What the form of a text tells, in any language."""

from __future__ import annotations

import re
import unicodedata

_DENSE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff]")
_MOST_OF = 0.6
_STEM = 4  # letters of a word that its forms share
_DENSE_IS = 3  # letters of an alphabet that say as much as one of these characters
_QUESTION = ("?", "？", "؟", "\u037e")
_SENTENCE_END = re.compile(r"(?<=[!?…。！？।؟♪，、；])\s*|(?<=\.)\s+|(?<=[:：])(?=\D*\d)\s*|\n+")
_QUOTED = re.compile('[«»“”„"「『《`][^«»“”„"」』》`]+[«»“”"」』》`]')


def size(text: str) -> int:
    """Return how much a text says, in letters and digits of an alphabet."""
    if text.isascii():
        return sum(map(str.isalnum, text))
    return sum(_DENSE_IS if _DENSE.match(each) else 1 for each in text if each.isalnum())


def is_wordless(text: str) -> bool:
    """Tell whether a text holds neither a letter nor a digit nor a picture: dots, dashes, blanks."""
    return not any(each.isalnum() or unicodedata.category(each) in ("So", "Sk", "Mn") for each in text)


def is_reaction(text: str) -> bool:
    """Tell whether a text is signs and pictures alone, with at least one picture."""
    letters = any(each.isalnum() for each in text)
    return not letters and any(unicodedata.category(each) == "So" for each in text)


def asks(text: str) -> bool:
    """Tell whether a text ends with a question."""
    return text.rstrip(" \t\n\"'»”’)]}*_").endswith(_QUESTION)


def goes_on(text: str) -> bool:
    """Tell whether a piece of a chained sentence is followed by another."""
    return text.endswith(("，", "、", "；"))


def exclaims(text: str) -> bool:
    """Tell whether a text ends with an exclamation."""
    return text.rstrip().endswith(("!", "！"))


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, as far as their marks show them.

    A colon ends one where figures follow, and so does a comma of Chinese and Japanese, which chain sentences with it.
    """
    return tuple(each.strip() for each in _SENTENCE_END.split(text) if each and each.strip())


def quotes(text: str, known: str) -> bool:
    """Tell whether a text quotes something that does not stand in what is known, and so gives it."""
    return any(_letters(quoted) not in _letters(known) for quoted in _QUOTED.findall(text) if _letters(quoted))


def repeats(text: str, known: str) -> bool:
    """Tell whether every word of a text, or how it begins, stands in what is known."""
    told = known.casefold()
    return all(word[:_STEM] in told for word in re.findall(r"\w+", text.casefold()))


def is_echo(text: str, of: str) -> bool:
    """Tell whether a text is another one again, or most of it, but for signs, blanks and case."""
    said, asked = _letters(text), _letters(of)
    return said in asked and len(said) >= _MOST_OF * len(asked)


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())
