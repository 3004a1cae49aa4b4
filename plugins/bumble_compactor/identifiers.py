"""Find what must not be paraphrased: paths, numbers, names in code, hashes, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST, _SHORTEST, _TELLING = 200, 2, 4
_STRIPPED = "\"'`.,;:!?()[]{}<>|*#=…。，、；：！？（）「」『』“”‘’"
_IDENTIFIER = re.compile(
    r"[a-z+]{2,}://\S+"  # addresses
    r"|\S+@\S+\.\S+"  # of people
    r"|\S*[\w.~-][/\\][\w.~-]\S*|[/~]\S+"  # paths
    r"|(?=\S*\d)[\w.:+#%€$£,-]{2,}"  # numbers, dates, versions, hashes, tickets
    r"|[A-Za-z]\w*(?:[_.][A-Za-z]\w*)+(?:\(\))?"  # names in code, names of files
    r"|[a-z]+[A-Z]\w+"  # camelCase
    r"|[A-Z][A-Z0-9_-]{2,}",  # CONSTANTS, abbreviations
)
_BETWEEN = " \t\r\n\"'`,;(){}[]<>"
_BLANKED = str.maketrans(dict.fromkeys(_BETWEEN, " "))
_SPLIT = re.compile(
    rf"[{re.escape(_BETWEEN)}\s。，、；：（）「」\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_MAY_BE_ONE = re.compile(r"[\d/\\@_.A-Z]")


def identifiers(text: str) -> Iterator[str]:
    """Yield the identifiers of `text`: first the telling, of these the latest.

    What tells by itself what it belongs to, a path, a hash, a name, comes before a small number.
    """
    words = text.translate(_BLANKED).split() if text.isascii() else _SPLIT.split(text)
    candidates = [word for word in dict.fromkeys(reversed(words)) if len(word) <= _LONGEST and _MAY_BE_ONE.search(word)]
    seen: set[str] = set()
    for word in sorted(candidates, key=_is_small):
        for piece in (word,) if "=" not in word or "://" in word else word.split("="):
            bare = piece.strip(_STRIPPED)
            if bare not in seen and len(bare) >= _SHORTEST and _IDENTIFIER.fullmatch(bare):
                seen.add(bare)
                yield bare


def _is_small(word: str) -> bool:
    return len(word) < _TELLING
