"""Read a command as the shell would, as far as that can be known without running it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_WORD = re.compile(r"""(?:[\w./:@%+,=-]|'[^']*'|"[^"$`\\!]*")+""")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_BLANKS = re.compile(" +")
_LONGEST_LEAD = 20  # words before the program that another one starts
# What begins with them runs the program behind them; the words of a shell's grammar do too.
_LAUNCHERS = frozenset(
    (
        *("builtin", "busybox", "chroot", "command", "doas", "env", "eval", "exec", "flock", "ionice", "nice", "nohup"),
        *("parallel", "setsid", "stdbuf", "sudo", "time", "timeout", "toybox", "watch", "xargs"),
        *("do", "elif", "else", "if", "then", "until", "while"),
    )
)
_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "su", "zsh"})
_STARTS_PROGRAM = frozenset({"-exec", "-execdir", "-ok", "-okdir"})  # of `find`
_TAKES_LINE = re.compile("-[a-zA-Z]*c")
_ASSIGNMENT = re.compile(r"\w+\+?=")
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


def behind(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return `words` and what may be a program that they start: `rm x` in `FOO=1 rm x`, `env -i rm x`, `sudo rm x`."""
    found = [tuple(words)]
    name = posixpath.basename(words[0]) if words else ""
    if name in _LAUNCHERS | _SHELLS or _ASSIGNMENT.match(name):
        found += [tuple(words[place:]) for place in range(1, min(len(words), _LONGEST_LEAD))]
    elif name == "find":
        found += [tuple(words[place:]) for place, word in enumerate(words, 1) if word in _STARTS_PROGRAM]
    return tuple(each for each in found if each)


def lines_in(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words that are lines for a shell: `cd a; rm x` in `sh -c "cd a; rm x"`."""
    lines = []
    for place, word in enumerate(words[:_LONGEST_LEAD]):
        name = posixpath.basename(word)
        if name == "eval":
            lines.append(" ".join(words[place + 1 :]))
        elif name in _SHELLS:
            options = enumerate(words[place + 1 : -1], place + 2)
            lines += [words[following] for following, option in options if _TAKES_LINE.fullmatch(option)]
    return tuple(lines)


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
