"""One entry of a memory file: what it says, where it is from, and how it is written."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, replace

from typing_extensions import override

_ORIGIN = re.compile(r"\s*\[turns? (?P<turns>\d+(?:, \d+)*)(?:; (?P<rest>[^\[\]]*))?\]$")
_BULLET = re.compile(r"[-*+][ \t]+")
_OPENING = re.compile(r"^(?:(?:[-*+>]|#{1,6})\s+)+")
_CONTROL = re.compile(r"<(?=\||/?s>|(?:start|end)_of_)|\[(?=/?INST\])")  # begins what chat templates mark messages with
_BETWEEN = re.compile(r"[\W_]+")
_LONGEST = 300  # characters of an entry: one thought, not a report
_LONGEST_TRACE = 120
_MOST_TURNS = 6  # numbers of turns that an entry names: the first and the latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an entry is from: turns of the home, and what else the file tells, in words."""

    turns: tuple[int, ...]
    source: str = ""
    trace: str = ""

    @override
    def __str__(self) -> str:
        label = "turn" if len(self.turns) == 1 else "turns"
        told = [f"{label} {', '.join(map(str, self.turns))}", self.source, self.trace]
        return f"[{'; '.join(part for part in told if part)}]"

    def joined(self, other: Origin) -> Origin:
        """Return the origin of an entry that says what two said."""
        turns = tuple(sorted({*self.turns, *other.turns}))
        if len(turns) > _MOST_TURNS:
            turns = (turns[0], *turns[1 - _MOST_TURNS :])
        source = self.source if self.source == other.source else min(self.source, other.source, key=len)
        return replace(self, turns=turns, source=source, trace=other.trace or self.trace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`raw` is how it stands in the file; an entry without `origin` is a person's."""

    heading: str
    text: str
    origin: Origin | None
    raw: str = ""

    @property
    def fingerprint(self) -> str:
        """A short name of what a job wrote here; any change of words or of the heading changes it."""
        return hashlib.sha256(f"{self.heading}\n{self.text}\n{self.origin}".encode()).hexdigest()[:12]

    @property
    def sameness(self) -> str:
        """What two entries that say the same have in common."""
        return sameness(self.text)

    def written(self, newline: str = "\n") -> str:
        """Return the entry as a line of a file."""
        return f"- {self.text}{f' {self.origin}' if self.origin else ''}{newline}"


def read_entry(heading: str, raw: str) -> Entry:
    """Return the entry that a list item of a file holds."""
    folded = " ".join(_BULLET.sub("", raw, count=1).split())
    found = _ORIGIN.search(folded)
    if found is None:
        return Entry(heading=heading, text=folded, origin=None, raw=raw)
    return Entry(heading=heading, text=folded[: found.start()], origin=_origin(found), raw=raw)


def new_entry(heading: str, text: str, origin: Origin) -> Entry:
    """Return an entry from a model's words: one line that opens nothing."""
    return Entry(heading=heading, text=plain(text), origin=origin)


def plain(text: str, most: int = _LONGEST) -> str:
    """Return `text` as one line that can open no heading, list, fence, comment or origin."""
    line = " ".join("".join(map(_harmless, unicodedata.normalize("NFC", text))).split())
    line = inert(_OPENING.sub("", line)).replace("<!--", "<! --").replace("```", "'''").replace("~~~", "- -")
    line = _ORIGIN.sub(lambda found: found[0].replace("[", "(").replace("]", ")"), line)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def inert(text: str) -> str:
    """Return `text` without marks by which a local server would take a message for ended."""
    return _CONTROL.sub(lambda found: f"{found[0]} ", text)


def quoted(text: str, most: int = _LONGEST_TRACE) -> str:
    """Return a short quotation for an origin: without brackets, which would end it."""
    return '"' + plain(text, most).replace("[", "(").replace("]", ")").replace('"', "'").replace(";", ",") + '"'


def sameness(text: str) -> str:
    """Return `text` without case, punctuation and spacing; numbers and words stay, so a negation differs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_BETWEEN.sub(_gap, folded).split())


def _gap(found: re.Match[str]) -> str:
    """Return a space for what stands between words, and the marks in it that belong to letters."""
    run = found[0]
    return " " if run.isascii() else "".join(c if unicodedata.category(c)[0] == "M" else " " for c in run)


def _origin(found: re.Match[str]) -> Origin:
    parts = [part.strip() for part in (found["rest"] or "").split(";")]
    traces = [part for part in parts if part.startswith(("replaces ", "differs from "))]
    sources = [part for part in parts if part and part not in traces]
    return Origin(
        turns=tuple(int(turn) for turn in found["turns"].split(", ")),
        source="; ".join(sources),
        trace="; ".join(traces),
    )


def _harmless(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cs" or (category == "Cf" and character not in "\u200c\u200d"):
        return ""
    return " " if category in ("Cc", "Zl", "Zp") else character
