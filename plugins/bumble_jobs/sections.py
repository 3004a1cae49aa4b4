"""Split a Markdown file into sections, so that joining them gives the file again to the byte."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bumble_core import is_locked

_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*?))?(?:[ \t]+#+)?[ \t]*(?:\r?\n)?")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<info>[^\r\n]*)(?:\r?\n)?")
_ITEM = re.compile(r"[-*+][ \t]+\S")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SECTION_LEVEL = 2  # deeper headings do not end a section


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what follows it, or what stands before the first heading. `title` is empty where there is none."""

    title: str
    lines: tuple[str, ...]
    is_locked: bool = False


def split(text: str) -> tuple[Section, ...]:
    """Return the sections of `text` in order; their lines joined are `text`.

    Headings of level one and two begin a section. One that begins with `[locked]`, at any level, begins a locked
    section, which ends before the next heading of its level or above. Nothing inside a code fence is a heading.
    """
    lines = _LINE.findall(text)
    fenced = fenced_lines(lines)
    found: list[tuple[str, list[str], bool]] = [("", [], False)]
    lock = 0
    for number, line in enumerate(lines):
        heading = None if number in fenced else _HEADING.fullmatch(line)
        if heading is not None:
            level, title = len(heading["marks"]), (heading["title"] or "").strip()
            begins_lock = is_locked(title)
            if (not lock or level <= lock) and (level <= _SECTION_LEVEL or begins_lock or lock):
                lock = level if begins_lock else 0
                found.append((title if level <= _SECTION_LEVEL else "", [], begins_lock))
        found[-1][1].append(line)
    return tuple(Section(title, tuple(body), is_locked) for title, body, is_locked in found)


def fenced_lines(lines: list[str]) -> set[int]:
    """Return the numbers of the lines of code fences; one that is never closed is no fence."""
    fenced: set[int] = set()
    start, marks = 0, ""
    for number, line in enumerate(lines):
        found = _FENCE.fullmatch(line if not marks else line.lstrip(" \t"))
        if found is None:
            continue
        if not marks and not (found["marks"][0] == "`" and "`" in found["info"]):
            start, marks = number, found["marks"]
        elif marks and found["marks"].startswith(marks) and not found["info"].strip():
            fenced |= set(range(start, number + 1))
            marks = ""
    return fenced


def items(lines: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    """Return the pieces of a section's body in order, and of each whether it is a list item at the left margin.

    An item has the indented lines after it, and blank lines between those.
    """
    fenced = fenced_lines(list(lines))
    pieces: list[tuple[list[str], bool]] = []
    for number, line in enumerate(lines):
        if number not in fenced and _ITEM.match(line):
            pieces.append(([line], True))
        elif pieces and (not pieces[-1][1] or _continues(lines, number)):
            pieces[-1][0].append(line)
        else:
            pieces.append(([line], False))
    return tuple(("".join(piece), is_item) for piece, is_item in pieces)


def _continues(lines: tuple[str, ...], number: int) -> bool:
    """Tell whether a line after a list item belongs to it: it is indented, or blank before one that is."""
    following = next((line for line in lines[number:] if line.strip()), "")
    return following[:1] in (" ", "\t")
