"""Add facts to a Markdown file of sections without breaking what stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from bumble_core import is_locked, title_key

_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<title>.*)")
_UNDERLINE = re.compile(r"\s*(=+|-+)\s*")  # makes a heading of the line above it
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LEVEL = 2  # of the sections that hold facts
_LONGEST_TITLE = 120


class Fact(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)

    title: str
    body: str


@dataclass(slots=True)
class _Part:
    """A section, or what stands before the first: its lines as they are, ends included.

    Only one of the level that holds facts, or a locked one, has a `title`. `lock` is the level of a locked heading; its
    section goes on to the next heading of that level or above.
    """

    title: str
    lines: list[str]
    lock: int = 0
    ends_in_fence: bool = False

    @property
    def swallows(self) -> bool:
        """True when a section that follows would be taken for a part of this one."""
        return self.ends_in_fence or 0 < self.lock < _LEVEL


def parse_facts(text: str) -> tuple[Fact, ...] | None:
    """Return the facts of a model's reply, those that are none left out; None when it holds no list at all."""
    start, end = text.find("["), text.rfind("]")
    if not 0 <= start < end:
        return None
    try:
        given = json.loads(text[start : end + 1])
    except ValueError:
        return None
    facts = []
    for each in given if isinstance(given, list) else []:
        try:
            fact = Fact.model_validate(each)
        except ValidationError:
            continue
        if fact.title and fact.body:
            facts.append(fact)
    return tuple(facts)


def with_facts(text: str, facts: Iterable[Fact]) -> str:
    """Return the file with `facts` in it; `text` itself when they bring nothing new.

    A known title gets the lines of the body that its section lacks. Locked sections, `## [locked] …`, stay as they
    are, and so do all others to which nothing is added. A fact whose title says that it is locked is left out: only a
    person locks.
    """
    parts = _parts(text)
    known = {title_key(part.title): part for part in reversed(parts) if part.title}
    known.update((title_key(part.title), part) for part in parts if part.lock)
    has_changed = False
    for fact in facts:
        title = _title(fact.title)
        if is_locked(title):
            continue
        part = known.get(title_key(title))
        if part is not None:
            has_changed |= not part.lock and _extend(part, fact.body)
            continue
        part = _Part(title, [f"## {title}\n", "\n", *_body(fact.body)])
        _insert(parts, part)
        known[title_key(title)] = part
        has_changed = True
    return "".join(line for part in parts for line in part.lines) if has_changed else text


def _parts(text: str) -> list[_Part]:
    """Part a file at its headings of the first two levels; what stands between fences is no heading."""
    parts, fence, lock = [_Part("", [])], "", 0
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        heading = None if fence or mark else _HEADING.match(line)
        if heading:
            level, title = len(heading["level"]), heading["title"].strip().rstrip("#").rstrip()
            own_lock = level if is_locked(title) else 0
            if (not lock or level <= lock) and (level <= _LEVEL or own_lock or lock):
                lock = own_lock
                parts.append(_Part(title if level == _LEVEL or lock else "", [], lock))
        parts[-1].lines.append(line)
        parts[-1].ends_in_fence = bool(fence)
    return parts


def _insert(parts: list[_Part], part: _Part) -> None:
    """Put a section at the end, but before what would swallow it: a fence that is never closed, a locked chapter."""
    place = next((index for index, each in enumerate(parts) if each.swallows and index), len(parts))
    if place < len(parts):
        part.lines.append("\n")
    else:
        _end_with_blank(parts[-1])
    parts.insert(place, part)


def _end_with_blank(part: _Part) -> None:
    """Let a blank line follow a section, which is no change of the section itself."""
    if part.lines and not part.lines[-1].endswith("\n"):
        part.lines[-1] += "\n"
    if part.lines and part.lines[-1].strip():
        part.lines.append("\n")


def _extend(part: _Part, body: str) -> bool:
    """Add the lines of `body` that a section lacks; tell whether there were any."""
    known = {" ".join(line.split()).casefold() for line in part.lines}
    whole = _body(body)
    fresh = [line for line in whole if " ".join(line.split()).casefold() not in known]
    if not fresh or part.ends_in_fence:
        return False
    added = whole if any(_FENCE.match(line) for line in whole) else fresh
    end = len(part.lines)
    while end > 1 and not part.lines[end - 1].strip():
        end -= 1
    if not part.lines[end - 1].endswith("\n"):
        part.lines[end - 1] += "\n"
    part.lines[end:end] = added
    return True


def _title(title: str) -> str:
    """Return a title as one line that is no heading of its own: its first that says something."""
    lines = (" ".join(line.split()).strip("# ") for line in title.splitlines())
    return next(filter(None, lines), "")[:_LONGEST_TITLE].rstrip("# ") or "Note"


def _body(body: str) -> list[str]:
    """Return a body as lines: headings escaped outside fences, and every fence closed."""
    lines, fence = [], ""
    for line in body.strip().splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        is_heading = not fence and (line.lstrip().startswith("#") or _UNDERLINE.fullmatch(line))
        lines.append(f"\\{line.lstrip()}\n" if is_heading else f"{line}\n")
    return [*lines, f"{fence}\n"] if fence else lines
