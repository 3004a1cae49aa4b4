"""Guess how many tokens a text takes, by the scripts that it is written in.

The base is the quarter of a token per character of Bumblebee's Cognition page. What is denser in tokens is weighed by
the first byte of its characters in UTF-8, with weights between what `cl100k_base` and `o200k_base` take (measured
2026-11-30); see docs/design/compaction.md.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PER_CHARACTER = 0.25
_DIGITS, _PER_DIGIT = b"0123456789", 0.3  # on top of the quarter
_SIGNS, _PER_SIGN = b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 0.4  # on top of the quarter
_INDENT, _SAVED_BY_INDENT = b"    ", 0.7  # blanks in a row are one token
_BLOB = re.compile(rb"[A-Za-z0-9+/=_-]{24,}")  # base64, hashes, ids: no words in them that a tokenizer knows
_PER_BLOB_CHARACTER = 0.85
_DIGITS_OF_BLOB = 16  # a path of this length may have no digit, a hash does
_LONG_WORD = 7  # characters and a blank, more than prose of most languages has on average
_SHORT = 64
_CONTINUATION = bytes(range(0x80, 0xC0))
_BY_FIRST_BYTE = tuple(
    (bytes(range(first, last + 1)), weight - _PER_CHARACTER)
    for first, last, weight in (
        (0xC2, 0xCF, 0.9),  # Latin with marks, Greek
        (0xD0, 0xD5, 0.5),  # Cyrillic, Armenian
        (0xD6, 0xD7, 1.0),  # Hebrew
        (0xD8, 0xDF, 0.72),  # Arabic and its neighbours
        (0xE0, 0xE0, 0.95),  # the scripts of India, Thai
        (0xE1, 0xE1, 1.6),  # Latin with two marks, Georgian, Khmer
        (0xE2, 0xE3, 1.05),  # signs, kana
        (0xE4, 0xE9, 1.1),  # Chinese
        (0xEA, 0xEF, 1.05),  # Korean, full width
        (0xF0, 0xF4, 2.8),  # emoji
    )
)


def tokens_of(text: str) -> int:
    """Return about how many tokens `text` takes; linear in its length, 3 to 30 microseconds per 1,000 characters."""
    return _known(text) if len(text) <= _SHORT else _tokens(text)


@lru_cache(maxsize=1024)
def _known(text: str) -> int:
    """Remember short texts: notices of the kernel, names of tools, small answers stand in many messages."""
    return _tokens(text)


def _tokens(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    if not text.isascii():
        data = data.translate(None, _CONTINUATION)
    digits = _count(data, _DIGITS)
    tokens = _PER_CHARACTER * len(data) + _PER_DIGIT * digits + _PER_SIGN * _count(data, _SIGNS)
    tokens -= _SAVED_BY_INDENT * data.count(_INDENT)
    if not text.isascii():
        tokens += sum(extra * _count(data, first) for first, extra in _BY_FIRST_BYTE)
    if len(data) > _LONG_WORD * (data.count(b" ") + 1) or _DIGITS_OF_BLOB * digits > len(data):
        tokens += sum(_extra_of(match.group()) for match in _BLOB.finditer(data))
    return int(tokens)


def _extra_of(word: bytes) -> float:
    digits = _count(word, _DIGITS)
    if _DIGITS_OF_BLOB * digits < len(word):
        return 0.0
    known = _PER_CHARACTER * len(word) + _PER_DIGIT * digits + _PER_SIGN * _count(word, _SIGNS)
    return max(0.0, _PER_BLOB_CHARACTER * len(word) - known)


def _count(data: bytes, wanted: bytes) -> int:
    return len(data) - len(data.translate(None, wanted))
