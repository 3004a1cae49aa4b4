"""Read what a person types: lines with history, several lines as one text."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

from ..atomic import write_atomically
from ..deferred import Deferred
from ..ports import Files

_BLOCK = '"""'
_MOST_KEPT = 1000  # lines of history that are offered again


def read_text(read_line: Callable[[str], str]) -> str:
    """Return the next text: one line, lines joined by a backslash at their end, or a block between triple quotes.

    `read_line` is given the prompt to show and raises EOFError at the end of the input, which ends a text that has
    begun and is raised when none has.
    """
    line = read_line("> ")
    if line.lstrip().startswith(_BLOCK):
        return _block(line.lstrip().removeprefix(_BLOCK), read_line)
    lines = [line]
    while lines[-1].endswith("\\"):
        lines[-1] = lines[-1][:-1]
        try:
            lines.append(read_line(". "))
        except EOFError:
            break
    return "\n".join(lines)


def _block(line: str, read_line: Callable[[str], str]) -> str:
    lines = []
    while not line.rstrip().endswith(_BLOCK):
        lines.append(line)
        try:
            line = read_line(". ")
        except EOFError:
            return "\n".join(lines).strip("\n")
    return "\n".join([*lines, line.rstrip().removesuffix(_BLOCK)]).strip("\n")


class Typed:
    """Standard input, line by line: with a prompt and a history on a terminal, bare in a pipe."""

    def __init__(self, history: Path, files: Files) -> None:
        self.is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._history = history
        self._files = files
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="replace")
        if self.is_terminal:
            self._remember = _editing(_kept(history, files))

    def read_line(self, prompt: str) -> str:
        """Return the next line without its end.

        Raises:
            EOFError: there is none.
        """
        if self.is_terminal:
            line = input(prompt)
            if line.strip():
                self._remember(line)
                self._keep(line)
            return line
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def _keep(self, line: str) -> None:
        try:
            handle = self._files.open(self._history, "ab")
            with handle:
                self._files.write(handle, f"{line}\n".encode(errors="replace"))
        except OSError:
            return


def _editing(history: list[str]) -> Callable[[str], None]:
    """Return what remembers a line until the chat ends; nothing does where Python has no readline."""
    try:
        edit_lines = Deferred("bumble_core.cli.line_editing:edit_lines", needs=("readline",))
    except ModuleNotFoundError:
        return lambda line: None
    remember: Callable[[str], None] = edit_lines(history)
    return remember


def _kept(history: Path, files: Files) -> list[str]:
    """Return the latest lines of the file, which is cut to them when it has become twice as long."""
    try:
        with files.open(history, "rb") as handle:
            lines = handle.read().decode("utf-8", "replace").splitlines()
        if len(lines) > 2 * _MOST_KEPT:
            text = "".join(f"{line}\n" for line in lines[-_MOST_KEPT:])
            write_atomically(files, history, text.encode())
    except OSError:
        return []
    return lines[-_MOST_KEPT:]
