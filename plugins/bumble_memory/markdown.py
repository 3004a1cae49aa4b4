"""Read the shapes of memory files: sections below `## `, entries of lists, paragraphs. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6})(?:\s+(.*?))?\s*#*\s*$")
_ENTRY = re.compile(r"[-*+] |\d+[.)] ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What stands below one heading of level two; the text before the first has no heading."""

    heading: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """An entry of a list or a paragraph, with the heading above it; lines count from 1."""

    heading: str
    line: int
    text: str
    is_entry: bool


def sections(text: str) -> tuple[Section, ...]:
    """Split a text at its headings of level one and two; headings in code fences are none."""
    found: list[Section] = []
    heading, lines = "", list[str]()
    for line, is_code in _lines(text):
        level, title = _heading(line, is_code=is_code)
        if level in (1, 2):
            found.append(Section(heading=heading, body="\n".join(lines).strip("\n")))
            heading, lines = title if level == 2 else "", []
        else:
            lines.append(line)
    found.append(Section(heading=heading, body="\n".join(lines).strip("\n")))
    return tuple(section for section in found if section.heading or section.body.strip())


def passages(text: str) -> tuple[Passage, ...]:
    """Return entries with their indented lines, and paragraphs, in their order."""
    found: list[Passage] = []
    heading, held = "", list[str]()
    begin, number = 0, 0

    def close() -> None:
        if body := "\n".join(held).strip():
            is_entry = bool(_ENTRY.match(body))
            found.append(Passage(heading=heading, line=begin, text=body, is_entry=is_entry))
        held.clear()

    for number, (line, is_code) in enumerate(_lines(text), 1):
        level, title = _heading(line, is_code=is_code)
        if level:
            close()
            heading = title
            continue
        if not is_code and (not line.strip() or _ENTRY.match(line)):
            close()
        if not held:
            begin = number
        if held or line.strip():
            held.append(line)
    close()
    return tuple(found)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line and whether it belongs to a code fence; a fence that is never closed is none."""
    lines = text.removeprefix("\ufeff").splitlines()
    closed_at = -1
    unclosed: dict[str, int] = {}  # from this length on no fence of the character is closed further down
    for place, line in enumerate(lines):
        if place > closed_at and (fence := _FENCE.match(line)):
            mark = fence.group(1)
            if len(mark) < unclosed.get(mark[0], len(mark) + 1):
                ends = (at for at in range(place + 1, len(lines)) if _closes(lines[at], mark))
                closed_at = next(ends, closed_at)
                if closed_at < place:
                    unclosed[mark[0]] = len(mark)
        yield line, place <= closed_at


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(mark) and set(bare) == {mark[0]}


def _heading(line: str, *, is_code: bool) -> tuple[int, str]:
    found = None if is_code else _HEADING.match(line)
    return (len(found.group(1)), found.group(2) or "") if found else (0, "")
