"""Bring two edits of one text together, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Span = tuple[int, int]


def merged(base: str, person: str, other: str) -> str:
    """Return `base` with the edits of both; no line that the person wrote is lost.

    Where both changed the same lines the person's come first, then what the other added there; a line that the person
    left as it was is gone where the other took it out.
    """
    old, mine, new = (text.splitlines(keepends=True) for text in (base, person, other))
    lines: list[str] = []
    for at_old, at_mine, at_new in _chunks(old, mine, new):
        lines += _chosen(old[slice(*at_old)], mine[slice(*at_mine)], new[slice(*at_new)])
    return "".join(line if line.endswith(("\n", "\r")) else f"{line}\n" for line in lines[:-1]) + "".join(lines[-1:])


def _chosen(old: Sequence[str], mine: Sequence[str], new: Sequence[str]) -> list[str]:
    if mine == old:
        return list(new)
    if new in (old, mine):
        return list(mine)
    known = {line.rstrip("\r\n") for line in (*old, *mine)}
    gone = set(old) - set(new)
    kept = [line for line in mine if line not in gone]
    return [*kept, *(line for line in new if line.rstrip("\r\n") not in known)]


def _chunks(old: Sequence[str], mine: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Span, Span, Span]]:
    """Yield spans of the three in turn: lines that all share, then lines that differ somewhere."""
    in_mine, in_new = _places(old, mine), _places(old, new)
    a = b = c = 0
    for line in range(len(old)):
        if (first := in_mine.get(line)) is None or (second := in_new.get(line)) is None:
            continue
        yield (a, line), (b, first), (c, second)
        yield (line, line + 1), (first, first + 1), (second, second + 1)
        a, b, c = line + 1, first + 1, second + 1
    yield (a, len(old)), (b, len(mine)), (c, len(new))


def _places(old: Sequence[str], changed: Sequence[str]) -> dict[int, int]:
    """Return where each line of `old` that is kept stands in `changed`."""
    blocks = SequenceMatcher(None, old, changed, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}
