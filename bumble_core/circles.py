"""Tell when a text only says the same again and again, as models do that have lost their way."""

from __future__ import annotations

_ROUNDS = 4  # of one passage, one after the other, at the end
_SHORTEST = 120  # characters that they have together; `ha ha ha ha` is a laugh
_LONGEST_PASSAGE = 400  # characters
_SHORTEST_ON_THE_WAY = 2_000  # characters, a page; a table of zeros or a line to copy is what somebody asked for
_EVERY = 250  # characters between two looks at a text that comes


def goes_in_circles(text: str, shortest: int = _SHORTEST) -> bool:
    """Return whether `text` ends with four equal passages in a row, the last of them maybe cut short.

    Together they have at least `shortest` characters. Read from the end, a passage is as long as the way to the next
    place where the last characters stood before.
    """
    end = text.rstrip()
    for passage in range(1, min(_LONGEST_PASSAGE, len(end) // _ROUNDS) + 1):
        length = max(_ROUNDS * passage, shortest)
        if len(end) >= length + passage and end.endswith(end[-length - passage : -passage]):
            return True
    return False


class CirclesWatch:
    """Follows a text while it comes. It may still find its way, so only a long way round counts."""

    def __init__(self) -> None:
        self._end = ""
        self._fresh = 0

    def is_lost_after(self, piece: str) -> bool:
        """Take the next piece; return whether the text goes in circles and should not be waited for."""
        self._end += piece
        self._fresh += len(piece)
        if self._fresh < _EVERY:
            return False
        self._end = self._end[-_SHORTEST_ON_THE_WAY - _LONGEST_PASSAGE :]
        self._fresh = 0
        return goes_in_circles(self._end, _SHORTEST_ON_THE_WAY)
