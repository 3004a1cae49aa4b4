"""Find words and phrases of many languages in a text, on word boundaries.

A word is a run of letters, digits and the marks that belong to them, so a Hindi vowel sign does not end one. Scripts
that are written without spaces have no such boundaries: there every character stands for itself and a phrase matches
anywhere. Case, width and the accents that people leave out when they type do not count.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from ..types.languages import LanguagePack

_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Han, kana; Thai, Lao, Burmese, Khmer
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
)
_WORD = re.compile(f"[{_UNSPACED}]|(?:[^\\W_{_UNSPACED}]|[{_MARKS}])+")
_SIGN = re.compile(r"[^\w\s]")
_WITHIN_A_PHRASE = re.compile(r"[\s'\-_]*")  # what may stand between two words of a phrase
_LEFT_OUT = re.compile("[\u0300-\u036f\u064b-\u0655\u093c\u0670\u0640\u200b-\u200d\ufe0e\ufe0f]")
_ALIKE = tuple(  # typed for each other
    zip("\u2019\u2018\u02bc\u2010\u2011\u0901\u0649\u0629", "'''--\u0902\u064a\u0647", strict=True)
)
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")
_ARTICLE = re.compile(
    "^[\u0648\u0641]?(?:[\u0628\u0643]?\u0627\u0644|[\u0648\u0641]?\u0644\u0644)(?=...)"
)  # Arabic writes it as one with its word
_BREAK = ""
_LONGEST_STEM = 24
_LONGEST_GAP = 4


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
    stems: dict[str, _Node] = field(default_factory=dict)
    endings: dict[str, _Node] = field(default_factory=dict)
    gap: _Node | None = None
    ends: list[tuple[str, str, str]] = field(default_factory=list)

    def after(self, piece: str) -> Iterator[_Node]:
        """Yield every place in a phrase that `piece` leads to."""
        if (node := self.following.get(piece)) is not None:
            yield node
        if (bare := _ARTICLE.sub("", piece)) != piece and (node := self.following.get(bare)) is not None:
            yield node
        if self.stems:
            for end in range(1, min(len(piece), _LONGEST_STEM) + 1):
                if (node := self.stems.get(piece[:end])) is not None:
                    yield node
        if self.endings:
            for start in range(max(1, len(piece) - _LONGEST_STEM), len(piece)):
                if (node := self.endings.get(piece[start:])) is not None:
                    yield node


class Lexicon:
    """The lists of many packs, compiled when first looked into; looking is linear in the text."""

    def __init__(self, packs: Iterable[LanguagePack]) -> None:
        self._lists = tuple((name, pack.language, phrases) for pack in packs for name, phrases in pack.lists.items())

    def matches(self, text: str) -> tuple[Match, ...]:
        """Return every phrase of every list that stands in the text, in the order of the text.

        A phrase does not reach across a sentence mark. One that has no letter, such as an emoji, matches anywhere.
        """
        found: list[Match] = []
        pieces, places = _pieces_of(folded(text))
        root = self._tree.root_for(pieces)
        for first in range(len(pieces)):
            for node, end in _ways(root, pieces, first):
                found += [Match(*named, places[first], places[end]) for named in node.ends]
        return tuple(found)

    @cached_property
    def _tree(self) -> _Tree:
        return _compiled(self._lists)  # once: to tell lists from others, each of their phrases is hashed

    def names(self, text: str) -> frozenset[str]:
        """Return the names of the lists of which a phrase stands in the text."""
        return frozenset(match.name for match in self.matches(text))


def folded(text: str) -> str:
    """Return the text as it is compared: NFKC, without case, joiners and the accents of alphabets.

    A letter that is drawn out, as in "sooo", stands once.
    """
    plain = text.lower()
    if not text.isascii():
        plain = unicodedata.normalize("NFKC", text).casefold()
        for written, meant in _ALIKE:
            plain = plain.replace(written, meant)
        plain = unicodedata.normalize("NFKC", _LEFT_OUT.sub("", unicodedata.normalize("NFD", plain)))
    return _DRAWN_OUT.sub(r"\1", plain)


def words(text: str) -> tuple[str, ...]:
    """Return the words of the text as they are compared; of a script without spaces, its characters."""
    return tuple(_WORD.findall(folded(text)))


class _Tree:
    """The phrases of many lists as a tree, of which a text grows the branches that its words may lead to.

    All of it takes a tenth of a second for ten languages, which no first message should wait for: until then a phrase
    is known by the character that it begins with.
    """

    def __init__(self, lists: tuple[tuple[str, str, tuple[str, ...]], ...]) -> None:
        self._root = _Node()
        self._seeds: dict[str, list[tuple[str, str, list[str]]]] = {}  # by the first character that counts
        self._growing = threading.Lock()  # protects tree and seeds: two event loops may look into one lexicon
        firsts = _Firsts()
        for name, language, phrases in lists:
            groups: dict[str, list[str]] = defaultdict(list)
            is_settled = unicodedata.is_normalized("NFKC", "\n".join(phrases))
            for phrase in filter(None, phrases):
                stands_alone = is_settled or unicodedata.is_normalized("NFKC", phrase)
                first = firsts[phrase[0]] if stands_alone else ""  # else its second character may change the first
                groups[first or _first(folded(phrase))].append(phrase)
            for first, group in groups.items():
                self._seeds.setdefault(first, []).append((name, language, group))

    def root_for(self, pieces: Iterable[str]) -> _Node:
        """Return the root, with every phrase in the tree that may begin with one of the pieces."""
        firsts = {form[:1] for piece in set(pieces) for form in (piece, _ARTICLE.sub("", piece))} | {"*"}
        with self._growing:
            for first in firsts & self._seeds.keys():
                for name, language, phrases in self._seeds.pop(first):
                    whole = "\n".join([" ".join(phrase.split()) for phrase in phrases])
                    for phrase, plain in zip(phrases, folded(whole).split("\n"), strict=True):
                        node = _grown(self._root, plain)
                        if node is not self._root:
                            node.ends.append((name, language, phrase))
        return self._root


class _Firsts(dict[str, str]):
    """The first character that counts of a phrase, by the one it is written with; empty where it does not tell."""

    def __missing__(self, written: str) -> str:
        first = self[written] = _first(folded(written))
        return first


@lru_cache(maxsize=4)
def _compiled(lists: tuple[tuple[str, str, tuple[str, ...]], ...]) -> _Tree:
    return _Tree(lists)


def _first(plain: str) -> str:
    """Return the character that the first piece of a folded phrase begins with; `*` for one that may be any."""
    return plain[:1] if plain[:1] == "*" else plain.lstrip("'-_ \t")[:1]


def _grown(root: _Node, plain: str) -> _Node:
    """Return where a folded phrase ends, having made the way there."""
    node = root
    for chunk in plain.split():
        if chunk == "*":
            node.gap = node = node.gap or _Node()
            continue
        bare = chunk.strip("*")
        pieces = [bare] if bare.isascii() and bare.isalnum() else _pieces_of(bare)[0]
        for at, piece in enumerate(pieces, 1):
            is_stem, is_ending = at == len(pieces) and chunk.endswith("*"), at == 1 and chunk.startswith("*")
            ways = node.stems if is_stem else node.endings if is_ending else node.following
            node = ways.setdefault(piece, _Node())
    return node


def _ways(root: _Node, pieces: Sequence[str], first: int) -> Iterator[tuple[_Node, int]]:
    """Yield every place in a phrase that the pieces from `first` on lead to, and how far they were read."""
    open_ways = [(root, first)]
    while open_ways:
        node, at = open_ways.pop()
        if at > first:
            yield node, at
        if at == len(pieces):
            continue
        open_ways += [(after, at + 1) for after in node.after(pieces[at])]
        if node.gap is not None:
            within = next(
                (n for n in range(_LONGEST_GAP) if pieces[at + n : at + n + 1] in ([], [_BREAK])), _LONGEST_GAP
            )
            open_ways += [(node.gap, at + length) for length in range(1, within + 1)]


def _pieces_of(plain: str) -> tuple[list[str], list[int]]:
    """Return the words, signs and breaks of a folded text, with the number of words before each.

    At a break no phrase goes on.
    """
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
