"""Edit lines with a history. Apart: importing readline changes how `input` reads, and not every Python has it."""

from __future__ import annotations

import readline
from collections.abc import Callable, Iterable


def edit_lines(history: Iterable[str]) -> Callable[[str], None]:
    """Let `input` offer the lines of `history`, and return what adds another."""
    readline.set_auto_history(False)
    for line in history:
        readline.add_history(line)
    return readline.add_history
