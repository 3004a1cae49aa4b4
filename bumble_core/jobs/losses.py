"""What a rewrite loses, and the sections that no rewrite may touch. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..locking import is_locked, title_key, unlocked

_HEADING = re.compile(r"(?P<level>#{1,6})[ \t]+(?P<title>.*)")
_FEW = 3  # lines: to lose so few is no sign of a model that went astray
_LETTERS = re.compile(r"\W+")


def lost_share(before: str, after: str, removed: Sequence[str]) -> float:
    """Return which share of the lines of `before` is gone from `after` and from what was said to be removed."""
    old = [line for line in map(_plain, before.splitlines()) if line]
    kept = {_plain(line) for line in after.splitlines()}
    said = [text for text in map(_plain, removed) if text]
    lost = [line for line in old if line not in kept and not any(line in text or text in line for text in said)]
    return len(lost) / len(old) if len(lost) > _FEW else 0.0


def with_locked(before: str, after: str) -> str:
    """Return `after` with the locked sections of `before` as they were, and with no others.

    A section is locked by `[locked]` at the beginning of its heading. One that was changed or left out is put back;
    one that is new loses the mark: only a person locks.
    """
    locked = [section for section in _sections(before) if _is_locked(section)]
    titles = {_title(section) for section in locked}
    parts = [_unlocked(section, titles) for section in _sections(after)]
    order = [_title(section) for section in _sections(before)]
    for section in locked:
        same = [part for part in parts if _is_heading(part) and _title(part) == _title(section)]
        if [part.rstrip() for part in same] == [section.rstrip()]:
            continue
        parts = [part for part in parts if part not in same]
        behind = order[: order.index(_title(section))]
        at = max((place + 1 for place, part in enumerate(parts) if _title(part) in behind), default=0)
        is_apart = at == len(parts) or parts[at].startswith("\n")
        parts.insert(at, section.rstrip() + ("\n" if is_apart else "\n\n"))
    return _joined(parts)


def _sections(text: str) -> list[str]:
    """Split at the headings; a locked section goes on to the next heading of its level or above."""
    sections: list[str] = []
    deeper_than = 0
    for line in text.splitlines(keepends=True):
        found = _HEADING.match(line)
        if not sections or (found and (not deeper_than or len(found["level"]) <= deeper_than)):
            sections.append(line)
            deeper_than = len(found["level"]) if found and is_locked(found["title"]) else 0
        else:
            sections[-1] += line
    return sections


def _unlocked(section: str, titles: set[str]) -> str:
    if not _is_locked(section) or _title(section) in titles:
        return section
    found = _HEADING.match(section)
    if found is None:
        return section
    return f"{found['level']} {unlocked(found['title'])}{section[found.end() :]}"


def _joined(sections: Sequence[str]) -> str:
    ended = [each if each.endswith("\n") else f"{each}\n" for each in sections[:-1]]
    return "".join([*ended, *sections[-1:]])


def _is_heading(section: str) -> bool:
    return _HEADING.match(section) is not None


def _is_locked(section: str) -> bool:
    found = _HEADING.match(section)
    return found is not None and is_locked(found["title"])


def _title(section: str) -> str:
    found = _HEADING.match(section)
    return title_key(found["title"]) if found else ""


def _plain(text: str) -> str:
    return _LETTERS.sub(" ", text).strip().casefold()
