"""Show what a write changed, as a unified diff of bounded size and effort."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from itertools import chain

_CONTEXT = 3
_MOST_LINES_COMPARED = 250  # of each side between what both begin and end with; beyond, all of it counts as changed
_LONGEST_LINE = 2000
_MOST_CHARS = 50_000
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def difference(path: str, before: str | None, after: str) -> str:
    """Return the change of the file `path` as a unified diff; None before means that there was no file.

    A long diff is cut with a marker, and so is a long line.
    """
    if before == after:
        return ""
    head = [f"--- {'/dev/null' if before is None else f'a/{path}'}\n", f"+++ b/{path}\n"]
    pieces: list[str] = []
    room = _MOST_CHARS
    for line in chain(head, _hunks(before or "", after)):
        room -= len(line)
        if room < 0:
            return "".join((*pieces, "[… the rest of this diff is left out …]\n"))
        pieces.append(line)
    return "".join(pieces)


def _hunks(old: str, new: str) -> Iterator[str]:
    start, rest = _common(old, new)
    skipped = old.count("\n", 0, start)
    old, new = old[start : len(old) - rest], new[start : len(new) - rest]
    if max(old.count("\n"), new.count("\n")) > _MOST_LINES_COMPARED:
        yield f"@@ -{_range(skipped, _count(old))} +{_range(skipped, _count(new))} @@\n"
        yield from (_shown("-", line[0]) for line in _LINE.finditer(old))
        yield from (_shown("+", line[0]) for line in _LINE.finditer(new))
        return
    a, b = _LINE.findall(old), _LINE.findall(new)
    for group in SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(_CONTEXT):
        (_, a_start, _, b_start, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        yield f"@@ -{_range(a_start + skipped, a_end - a_start)} +{_range(b_start + skipped, b_end - b_start)} @@\n"
        for kind, a_from, a_to, b_from, b_to in group:
            if kind == "equal":
                yield from (_shown(" ", line) for line in a[a_from:a_to])
                continue
            yield from (_shown("-", line) for line in a[a_from:a_to])
            yield from (_shown("+", line) for line in b[b_from:b_to])


def _common(old: str, new: str) -> tuple[int, int]:
    """Return how many characters both begin with, and then end with, in whole lines and less the lines of context."""
    shorter = min(len(old), len(new))
    start = _longest(shorter, lambda length: old[:length] == new[:length])
    rest = _longest(shorter - start, lambda length: old[len(old) - length :] == new[len(new) - length :])
    start = old.rfind("\n", 0, start) + 1
    for _ in range(_CONTEXT):
        start = old.rfind("\n", 0, max(0, start - 1)) + 1
    end = len(old) - rest
    for _ in range(_CONTEXT + 1):
        end = old.find("\n", end) + 1 or len(old)
    return start, len(old) - end


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """Return the greatest length up to `most` for which something holds that holds for all shorter ones."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        if holds(middle):
            least = middle
        else:
            most = middle - 1
    return least


def _count(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _range(start: int, length: int) -> str:
    """Write a range of lines as `diff -u` does."""
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _shown(sign: str, line: str) -> str:
    text = line.removesuffix("\n")
    if len(text) > _LONGEST_LINE:
        text = f"{text[:_LONGEST_LINE]}[… {len(text) - _LONGEST_LINE} more characters]"
    return f"{sign}{text}\n" if line.endswith("\n") else f"{sign}{text}\n\\ No newline at end of file\n"
