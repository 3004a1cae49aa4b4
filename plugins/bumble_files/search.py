"""Walk the files below an open folder that a glob names, and find the lines in them that a pattern matches.

The pattern runs on an engine whose time is linear in the line, so that no pattern can hang the process.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice

from pydantic_core import SchemaError, SchemaValidator, core_schema

from bumble_core import ToolError

from .contents import read_at
from .texts import FileText
from .workspace import FOLDER, printable

_SKIPPED = frozenset({".git", ".venv", "__pycache__", "node_modules"})
_DEEPEST = 50
_MOST_ENTRIES = 20_000
_MOST_BYTES = 64 << 20
_LONGEST_LINE = 200

_Found = tuple[int, str, str]  # an open folder, a name in it, its path as it is shown


@dataclass(slots=True)
class Search:
    """One search: `found` are lines of the answer, at most `most`; `is_cut` says that there may be more."""

    glob: Glob
    lines: SchemaValidator | None
    limit: int
    most: int
    found: list[str] = field(default_factory=list)
    files: int = 0
    unread: int = 0
    entries: int = 0
    bytes_read: int = 0
    is_cut: bool = False

    def run(self, folder: int, path: str) -> None:
        """Look through everything below `folder`, whose path is `path`."""
        prefix = "" if path == "." else f"{path}/"
        with closing(self._walk(folder, prefix, self.glob.begin(), 0)) as files:
            for place, name, shown in files:
                self.look(place, name, shown)
                self.is_cut = self.is_cut or len(self.found) >= self.most or self.bytes_read >= _MOST_BYTES
                if self.is_cut:
                    return

    def look(self, folder: int, name: str, shown: str) -> None:
        """Take one file, or the lines in it that match."""
        self.files += 1
        if self.lines is None:
            self.found.append(shown)
            return
        try:
            data, status = read_at(folder, name, self.limit)
        except OSError:
            self.unread += 1
            return
        text = FileText.read(data)
        self.bytes_read += len(data)
        self.unread += text is None or status.st_size > len(data)
        for number, line in enumerate(text.readable.split("\n") if text else (), 1):
            if self.lines.isinstance_python(line):
                self.found.append(f"{shown}:{number}: {line.strip()[:_LONGEST_LINE]}")
                if len(self.found) >= self.most:
                    self.is_cut = True
                    return

    def _walk(self, folder: int, prefix: str, states: frozenset[int], depth: int) -> Generator[_Found, None, None]:
        with os.scandir(folder) as entries:
            known = sorted(islice(entries, _MOST_ENTRIES), key=lambda entry: entry.name)
        self.entries += len(known)
        for entry in known:
            after = self.glob.after(states, entry.name)
            if entry.is_file(follow_symlinks=False) and self.glob.accepts(after):
                yield folder, entry.name, prefix + printable(entry.name)
            elif after and entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED and depth < _DEEPEST:
                yield from self._below(folder, entry.name, prefix, after, depth)
            if self.entries > _MOST_ENTRIES:
                self.is_cut = True
                return

    def _below(
        self, folder: int, name: str, prefix: str, states: frozenset[int], depth: int
    ) -> Generator[_Found, None, None]:
        try:
            handle = os.open(name, FOLDER, dir_fd=folder)
        except OSError:
            self.unread += 1
            return
        try:
            yield from self._walk(handle, f"{prefix}{printable(name)}/", states, depth + 1)
        finally:
            os.close(handle)


class Glob:
    """A shell pattern over paths: `*` and `?` stay within a name, `**` crosses folders, a bare name fits anywhere."""

    def __init__(self, pattern: str) -> None:
        steps = [step for step in pattern.split("/") if step not in {"", "."}]
        if pattern.startswith(("/", "~")) or ".." in steps or not steps or "\x00" in pattern or len(pattern) > 1000:
            raise ToolError(f"glob {pattern[:200]!r} does not stay in the workspace")
        self._steps = steps if "/" in pattern else ["**", *steps]

    def begin(self) -> frozenset[int]:
        return self._closed({0})

    def after(self, states: frozenset[int], name: str) -> frozenset[int]:
        """Return the states after one more name of the path; none means that nothing below can fit."""
        reached: set[int] = set()
        for state in states:
            if state < len(self._steps) and self._steps[state] == "**":
                reached.add(state)
            elif state < len(self._steps) and fnmatchcase(name, self._steps[state]):
                reached.add(state + 1)
        return self._closed(reached)

    def accepts(self, states: frozenset[int]) -> bool:
        return len(self._steps) in states

    def _closed(self, states: set[int]) -> frozenset[int]:
        """`**` also fits no folder at all."""
        for state in range(len(self._steps)):
            if state in states and self._steps[state] == "**":
                states.add(state + 1)
        return frozenset(states)


def line_matcher(pattern: str) -> SchemaValidator | None:
    """Return what says whether a line has a match of the regular expression; None for an empty one.

    Raises:
        ToolError: it is not a regular expression of this engine, which knows no look-around and no back references.
    """
    if not pattern:
        return None
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except SchemaError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise ToolError(f"`pattern` is not a regular expression that can be used here: {reason[:200]}") from error
