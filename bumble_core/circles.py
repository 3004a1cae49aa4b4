"""Tell when a text only says the same again and again, as models do that have lost their way."""

from __future__ import annotations

_ROUNDS = 4  # of one passage, one after the other, at the end
_SHORTEST = 120  # characters that they have together; `ha ha ha ha` is a laugh
_LONGEST_PASSAGE = 400  # characters


def goes_in_circles(text: str) -> bool:
    """Return whether `text` ends with four equal passages in a row, the last of them maybe cut short.

    Read from the end, a passage is as long as the way to the next place where the last characters stood before.
    """
    end = text.rstrip()
    for passage in range(1, min(_LONGEST_PASSAGE, len(end) // _ROUNDS) + 1):
        length = max(_ROUNDS * passage, _SHORTEST)
        if len(end) >= length + passage and end.endswith(end[-length - passage : -passage]):
            return True
    return False
