"""Make text safe to show on a terminal."""

from __future__ import annotations

import re
import unicodedata
from typing import TextIO

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROL_PICTURES = 0x2400  # U+2400 pictures U+0000, and so on


def printable(text: str) -> str:
    """Replace whatever a terminal would obey rather than show; newline and tab stay.

    A control character becomes its picture (`␛`), a carriage return disappears, what turns the direction of
    writing or is half a character becomes `�`. Each character is judged alone, so that a text may be shown in
    pieces cut anywhere.
    """
    return _UNSAFE.sub(_picture, text)


def one_line(text: str, width: int) -> str:
    """Return `text` as one safe line of at most `width` characters; what is cut shows as `…`."""
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + "…"


def encodable(text: str, stream: TextIO) -> str:
    """Replace what the encoding of `stream` cannot express by `?`."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding, "replace")


def rows(text: str, columns: int) -> int | None:
    """Count the rows that `text` fills from the first column on, or return None where terminals may disagree.

    They disagree on wide, combining and invisible characters.
    """
    if columns < 1 or not all(_is_narrow(character) for character in text if character != "\n"):
        return None
    return sum(max(1, -(-len(line) // columns)) for line in text.split("\n"))


def _picture(match: re.Match[str]) -> str:
    character = match.group()
    if character == "\r":
        return ""
    if character < " ":
        return chr(_CONTROL_PICTURES + ord(character))
    return "\u2421" if character == "\x7f" else "\ufffd"


def _is_narrow(character: str) -> bool:
    is_plain = unicodedata.category(character)[0] not in "CM"
    return is_plain and unicodedata.east_asian_width(character) in {"Na", "N", "H"}
