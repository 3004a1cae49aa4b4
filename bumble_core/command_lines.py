"""Read a command as the shell would, as far as that can be known without running it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_WORD = re.compile(r"""(?:[\w./:@%+,=-]|'[^']*'|"[^"$`\\!]*")+""")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_BLANKS = re.compile(" +")
_BETWEEN_PROGRAMS = re.compile(r"[\s;&|(){}<>`$!]*[;&|(){}<>`$!\n][\s;&|(){}<>`$!]*")


def words_of(line: str) -> tuple[str, ...] | None:
    """Return the words of the one program that a line starts, or None where a shell may do anything else with it.

    Only what means itself in every shell is taken: no expansion, no second program, no redirection, no assignment, no
    line break, no blank but the space, nothing that cannot be seen.
    """
    if not line.isprintable():
        return None
    words: list[str] = []
    place = len(line) - len(line.lstrip(" "))
    while place < len(line):
        word = _WORD.match(line, place)
        if word is None:
            return None
        words.append(_QUOTED.sub(lambda quoted: quoted[1] or quoted[2] or "", word[0]))
        blanks = _BLANKS.match(line, word.end())
        if blanks is None and word.end() < len(line):
            return None
        place = blanks.end() if blanks else word.end()
    return None if not words or "=" in words[0] else tuple(words)


def programs_of(line: str) -> tuple[tuple[str, ...], ...]:
    """Return what look like the programs that a line starts. A line may start others all the same."""
    found = (re.sub("[\"'\\\\]", "", part).split() for part in _BETWEEN_PROGRAMS.split(line))
    return tuple(tuple(words) for words in found if words)


def words_fit(pattern: str, words: Sequence[str]) -> bool:
    """Tell whether each word fits its place in the pattern; a `*` on its own stands for any number of words."""
    steps = pattern.split()
    states = _closed({0}, steps)
    for word in words:
        reached = {state if steps[state] == "*" else state + 1 for state in states if _takes(steps, state, word)}
        states = _closed(reached, steps)
    return len(steps) in states


def _takes(steps: Sequence[str], state: int, word: str) -> bool:
    return state < len(steps) and fnmatchcase(word, steps[state])


def _closed(states: set[int], steps: Sequence[str]) -> set[int]:
    for state, step in enumerate(steps):
        if state in states and step == "*":
            states.add(state + 1)
    return states
