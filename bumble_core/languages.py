"""Find words and phrases of many languages in a text, on word boundaries.

A word is a run of letters, digits and the marks that belong to them, so a Hindi vowel sign does not end one. Scripts
that are written without spaces have no such boundaries: there every character stands for itself and a phrase matches
anywhere. Case, width and the accents that people leave out when they type do not count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .types.languages import LanguagePack

_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Han, kana; Thai, Lao, Burmese, Khmer
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
)
_WORD = re.compile(f"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\\W_]|[{_MARKS}])+")
_SIGN = re.compile(r"[^\w\s]")
_WITHIN_A_PHRASE = re.compile(r"[\s'\-_]*")  # what may stand between two words of a phrase
_LEFT_OUT = re.compile("[\u0300-\u036f\u064b-\u0655\u093c\u0670\u0640\u200b-\u200d\ufe0e\ufe0f]")
_ALIKE = str.maketrans(
    "\u2019\u2018\u02bc\u2010\u2011\u0901\u0649\u0629", "'''--\u0902\u064a\u0647"
)  # typed for each other
_BREAK = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase that was found. `start` and `end` count the words of the text."""

    name: str
    language: str
    phrase: str
    start: int
    end: int


@dataclass(slots=True)
class _Node:
    """What may follow in a phrase, and which phrases end here."""

    following: dict[str, _Node] = field(default_factory=dict)
    ends: list[tuple[str, str, str]] = field(default_factory=list)


class Lexicon:
    """The lists of many packs, compiled when first looked into; looking is linear in the text."""

    def __init__(self, packs: Iterable[LanguagePack]) -> None:
        self._packs = tuple(packs)
        self._root: _Node | None = None

    def matches(self, text: str) -> tuple[Match, ...]:
        """Return every phrase of every list that stands in the text, in the order of the text.

        A phrase does not reach across a sentence mark. One that has no letter, such as an emoji, matches anywhere.
        """
        root = self._root = self._root or self._compiled()
        found: list[Match] = []
        pieces, places = _pieces(text)
        for first in range(len(pieces)):
            node: _Node | None = root
            for at in range(first, len(pieces)):
                node = node.following.get(pieces[at]) if node else None
                if node is None:
                    break
                found += [Match(*end, places[first], places[at + 1]) for end in node.ends]
        return tuple(found)

    def names(self, text: str) -> frozenset[str]:
        """Return the names of the lists of which a phrase stands in the text."""
        return frozenset(match.name for match in self.matches(text))

    def _compiled(self) -> _Node:
        root = _Node()
        for pack in self._packs:
            for name, phrases in pack.lists.items():
                for phrase in phrases:
                    node = root
                    for piece in _pieces(phrase)[0]:
                        node = node.following.setdefault(piece, _Node())
                    if node is not root:
                        node.ends.append((name, pack.language, phrase))
        return root


def folded(text: str) -> str:
    """Return the text as it is compared: NFKC, without case, joiners and the accents of alphabets."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_ALIKE)
    return unicodedata.normalize("NFKC", _LEFT_OUT.sub("", unicodedata.normalize("NFD", plain)))


def words(text: str) -> tuple[str, ...]:
    """Return the words of the text as they are compared; of a script without spaces, its characters."""
    return tuple(_WORD.findall(folded(text)))


def merged(packs: Sequence[LanguagePack]) -> tuple[LanguagePack, ...]:
    """Return one pack a language, its lists joined in the order of `packs`; a phrase that comes twice counts once."""
    lists: dict[str, dict[str, dict[str, None]]] = {}
    for pack in packs:
        for name, phrases in pack.lists.items():
            lists.setdefault(pack.language, {}).setdefault(name, {}).update(dict.fromkeys(phrases))
    return tuple(
        LanguagePack(language=language, lists={name: tuple(phrases) for name, phrases in named.items()})
        for language, named in lists.items()
    )


def read_packs(folder: Path) -> tuple[LanguagePack, ...]:
    """Read a pack from every `LANGUAGE.txt` of a folder.

    A list begins with its name in brackets on a line of its own; phrases stand between commas or on lines; what
    follows `#` is a remark.

    Raises:
        ValueError: phrases stand before the first list.
    """
    return tuple(_read(path) for path in sorted(folder.glob("*.txt")))


def _read(path: Path) -> LanguagePack:
    lists: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        content = line.partition("#")[0].strip()
        if content.startswith("[") and content.endswith("]"):
            current = lists.setdefault(content[1:-1].strip(), [])
        elif content and current is None:
            raise ValueError(f"`{path.name}`: `{content}` stands before the first list; write `[name]` above it")
        elif content and current is not None:
            current += [phrase.strip() for phrase in content.split(",") if phrase.strip()]
    return LanguagePack(language=path.stem, lists={name: tuple(phrases) for name, phrases in lists.items()})


def _pieces(text: str) -> tuple[list[str], list[int]]:
    """Return words, signs, and a break wherever a phrase may not go on, with the number of words before each."""
    plain = folded(text)
    pieces: list[str] = []
    places = [0]
    end, count = 0, 0
    for word in _WORD.finditer(plain):
        between = plain[end : word.start()]
        if not _WITHIN_A_PHRASE.fullmatch(between):
            signs = [*_SIGN.findall(between), _BREAK]
            pieces += signs
            places += [count] * len(signs)
        count += 1
        pieces.append(word[0])
        places.append(count)
        end = word.end()
    signs = _SIGN.findall(plain[end:])
    return [*pieces, *signs], [*places, *([count] * len(signs))]
