"""Show text as material: between two marks that it cannot hold, and within a budget."""

from __future__ import annotations

import hashlib

_WORD_CHARS = 6


def framed(label: str, text: str) -> str:
    """Return `text` between `<<<label WORD` and `label WORD>>>`.

    The word follows from the text, so the same text is framed alike in every process, and does not occur in it:
    nothing in the text can close the frame.
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    while digest[:_WORD_CHARS] in text:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    word = digest[:_WORD_CHARS]
    return f"<<<{label} {word}\n{text}\n{label} {word}>>>"


def fitted(texts: list[str], budget: int) -> list[str]:
    """Shorten the longest of `texts` until all have at most `budget` characters together; short ones stay whole."""
    if sum(map(len, texts)) <= budget:
        return texts
    left, share = max(0, budget), 0
    for place, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - place)
        if length > share:
            break
        left -= length
    return [shortened(text, share) for text in texts]


def shortened(text: str, most: int) -> str:
    """Return as many whole lines of `text` as fit `most` characters, with a mark for the rest."""
    if len(text) <= most:
        return text
    mark = f"\n[… the rest of {len(text)} characters is left out]"
    room = most - len(mark)
    if room <= 0:
        return ""
    end = text.rfind("\n", 0, room + 1)
    return text[: end if end > 0 else room] + mark
