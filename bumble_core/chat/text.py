"""Put streamed text together: halves of characters, and thoughts between `<think>` tags."""

from __future__ import annotations

from typing import Literal

from ..types.inference import Delta

_OPENING, _CLOSING = "<think>", "</think>"
_LONGEST_START = 256  # characters of white space that may stand before a tag
_NOTHING = Delta()


def whole_characters(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones replaced, so that UTF-8 can hold it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class ThoughtSplitter:
    """Separates what is said from what is thought.

    Thoughts stand between `<think>` and `</think>` at the start of a text; tags may be cut anywhere, and so may
    a character that JSON spells as two escapes. A tag anywhere else is text.
    """

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "after", "text"] = "start"
        self._held = ""

    def passes(self, piece: str) -> bool:
        """Tell whether `piece` is text as it stands, so that it need not be fed."""
        return self._state == "text" and not self._held and piece.isascii()

    def feed(self, piece: str) -> Delta:
        """Return what is certain so far; the rest is held until the next piece."""
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return self._split(whole_characters(text))

    def end(self) -> Delta:
        """Return what was held: nothing more will come."""
        held, self._held = whole_characters(self._held), ""
        if self._state == "thinking":
            return Delta(thinking=held)
        said = "" if self._state == "after" and not held.strip() else held
        self._state = "text"
        return Delta(text=said) if said else _NOTHING

    def _split(self, text: str) -> Delta:
        if self._state == "text":
            return Delta(text=text)
        if self._state == "start":
            return self._at_start(text)
        if self._state == "thinking":
            return self._in_thought(text)
        said = text.lstrip()
        if said:
            self._state = "text"
        return Delta(text=said)

    def _at_start(self, text: str) -> Delta:
        stripped = text.lstrip()
        if stripped.startswith(_OPENING):
            self._state = "thinking"
            return self._in_thought(stripped[len(_OPENING) :])
        if _OPENING.startswith(stripped) and len(text) < _LONGEST_START:
            self._held = text + self._held
            return _NOTHING
        self._state = "text"
        return Delta(text=text)

    def _in_thought(self, text: str) -> Delta:
        thought, tag, said = text.partition(_CLOSING)
        if tag:
            self._state = "after"
            return Delta(thinking=thought, text=self._split(said).text)
        kept = next((n for n in range(len(_CLOSING) - 1, 0, -1) if text.endswith(_CLOSING[:n])), 0)
        if kept:
            text, self._held = text[:-kept], text[-kept:] + self._held
        return Delta(thinking=text)
