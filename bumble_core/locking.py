"""Tell which headings of a memory file lock their section, and which titles are the same to a reader."""

from __future__ import annotations

import re
import unicodedata

_EMPHASIS = r"\s*_`~\\"
_MARK = re.compile(rf"[{_EMPHASIS}]*\[\s*locked\s*\\?\][{_EMPHASIS}]*", re.IGNORECASE)


def is_locked(title: str) -> bool:
    """Return whether a heading begins with `[locked]`, however it is written: full width, in bold, with blanks."""
    return _MARK.match(_plain(title)) is not None


def unlocked(title: str) -> str:
    """Return a title that locks nothing; one that locks nothing as it is."""
    while is_locked(title):
        title = _MARK.sub("", _plain(title), count=1)
    return title


def title_key(title: str) -> str:
    """Return what a title is compared by: its words without marks of locking and emphasis, in one letter case."""
    return " ".join(_plain(unlocked(title)).casefold().split()).strip("*_`~ ").rstrip(":.! ")


def _plain(title: str) -> str:
    """Return `title` in the usual forms of its characters, without those that nobody sees."""
    usual = unicodedata.normalize("NFKC", title)
    return "".join(character for character in usual if unicodedata.category(character) != "Cf")
