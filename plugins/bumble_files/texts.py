"""The text of a file without losing its bytes: BOM, line endings and what is not UTF-8 come back as they were."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Self

from bumble_core import ToolError

_BOM = "\ufeff"
_LONGEST_LINE = 2000
_MOST_LINES_COMPARED = 500
_MOST_PLACES_NAMED = 10
_SURROGATE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class FileText:
    """`text` has plain line feeds; `returns` are the places in it of those that stand for CR LF in the file."""

    text: str
    bom: bool
    returns: tuple[int, ...]

    @classmethod
    def read(cls, data: bytes) -> Self | None:
        """Return the text of `data`, or None when it is binary."""
        if b"\x00" in data:
            return None
        raw = data.decode("utf-8", "surrogateescape")
        bom = raw.startswith(_BOM)
        raw = raw[bom:]
        found = [place.start() for place in re.finditer("\r\n", raw)]
        return cls(raw.replace("\r\n", "\n"), bom, tuple(place - number for number, place in enumerate(found)))

    @property
    def ends_lines_with_crlf(self) -> bool:
        return bool(self.returns) and len(self.returns) == self.text.count("\n")

    @property
    def is_utf8(self) -> bool:
        return not _SURROGATE.search(self.text)

    @property
    def readable(self) -> str:
        """The text with a mark in place of each byte that is not UTF-8."""
        return _SURROGATE.sub("\ufffd", self.text)

    def with_all(self, text: str) -> bytes:
        """Return `text` as bytes with this file's BOM and, where it has one kind only, its line endings."""
        plain = text.removeprefix(_BOM)
        if self.ends_lines_with_crlf and "\r" not in plain:
            plain = plain.replace("\n", "\r\n")
        return _encoded(plain, self.bom or text.startswith(_BOM))

    def with_added(self, text: str) -> bytes:
        """Return the file's bytes with `text` after them."""
        plain = text.removeprefix(_BOM) if self.bom or self.text else text
        plain = plain.replace("\n", "\r\n") if self.ends_lines_with_crlf and "\r" not in plain else plain
        return _encoded(self._raw(0, len(self.text)) + plain, self.bom)

    def with_edit(self, start: int, end: int, new: str) -> bytes:
        """Return the file's bytes with `new` in place of `text[start:end]`, in the line ending of that place."""
        nearest = self.text.find("\n", start)
        nearest = self.text.rfind("\n", 0, start) if nearest < 0 else nearest
        index = bisect_left(self.returns, nearest)
        if nearest in self.returns[index : index + 1]:
            new = new.replace("\n", "\r\n")
        return _encoded(self._raw(0, start) + new + self._raw(end, len(self.text)), self.bom)

    def _raw(self, start: int, end: int) -> str:
        places = self.returns[bisect_left(self.returns, start) : bisect_left(self.returns, end)]
        pieces: list[str] = []
        last = start
        for place in places:
            pieces += (self.text[last:place], "\r")
            last = place
        return "".join((*pieces, self.text[last:end]))


def unique_place(text: str, old: str) -> tuple[int, int]:
    """Return where `old` stands in `text`, from and to.

    Raises:
        ToolError: it does not stand there exactly once; the message says where it does, or what is nearest.
    """
    if not old:
        raise ToolError("`old` is empty; give the text to replace, or use write_file")
    start = text.find(old)
    if start < 0:
        raise ToolError(f"`old` was not found{_hint(text, old)}. Nothing was changed")
    if text.find(old, start + 1) >= 0:
        count, lines = _places(text, old)
        raise ToolError(
            f"`old` matches {count} places, at lines {lines}; give more of the text around the one you mean. Nothing "
            "was changed"
        )
    return start, start + len(old)


def page(text: str, start_line: int, line_count: int, room: int) -> tuple[str, int, int]:
    """Return lines of `text` from `start_line` on, the number of the last one given, and how many there are.

    At most `line_count` lines and about `room` characters, but one line at least; long lines are cut with a marker.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    longest = min(_LONGEST_LINE, room)
    given: list[str] = []
    for line in lines[start_line - 1 : start_line - 1 + line_count]:
        cut = line if len(line) <= longest else f"{line[:longest]}[… {len(line) - longest} more characters]"
        room -= len(cut) + 1
        if room < 0 and given:
            break
        given.append(cut)
    return "\n".join(given), start_line - 1 + len(given), len(lines)


def _encoded(text: str, bom: bool) -> bytes:
    return ((_BOM if bom else "") + text).encode("utf-8", "surrogateescape")


def _places(text: str, old: str) -> tuple[str, str]:
    """Return how many places match, those that overlap too, and the lines of the first few."""
    numbers: list[str] = []
    start, line, counted = text.find(old), 1, 0
    while start >= 0 and len(numbers) < _MOST_PLACES_NAMED:
        line += text.count("\n", counted, start)
        counted = start
        numbers.append(str(line))
        start = text.find(old, start + 1)
    if start < 0:
        return str(len(numbers)), ", ".join(numbers)
    return str(max(len(numbers) + 1, text.count(old))), ", ".join(numbers) + " and more"


def _hint(text: str, old: str) -> str:
    """Say what may have been meant by an `old` that does not occur."""
    if old.endswith("\n") and not text.endswith("\n") and text.endswith(old.rstrip("\n")):
        return ": the file has no newline at the end of its last line"
    wanted = next((line for line in old.split("\n") if line.strip()), "").strip()
    folded, lines = wanted.casefold(), text.split("\n")
    alike = [number for number, line in enumerate(lines, 1) if line.strip().casefold() == folded]
    if not alike:
        few = [line.strip()[:200] for line in lines[:_MOST_LINES_COMPARED]]
        alike = [few.index(line) + 1 for line in get_close_matches(wanted[:200], few, n=1)]
    return f"; nearest is line {alike[0]}: {lines[alike[0] - 1][:200]!r}" if alike and wanted else ""
