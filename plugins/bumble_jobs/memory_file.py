"""A memory file as entries below fixed headings, and everything else as it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .entries import Entry, read_entry
from .sections import Section, items, split

Piece = str | Entry


@dataclass(frozen=True, slots=True)
class Block:
    """A section: its heading's line, then entries and other text. `heading` is empty for one that jobs leave alone."""

    heading: str
    head: str
    body: tuple[Piece, ...] = ()

    @property
    def text(self) -> str:
        return self.head + "".join(map(_raw, self.body))


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A move returns the next file. It adds, exchanges and removes entries; of other text it removes nothing.

    `headings` are the fixed ones, in their order.
    """

    headings: tuple[str, ...]
    blocks: tuple[Block, ...]
    newline: str = "\n"

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks)

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(piece for block in self.blocks for piece in block.body if isinstance(piece, Entry))

    def under(self, heading: str) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.heading == heading)

    def without(self, gone: Sequence[Entry]) -> MemoryFile:
        """Return the file less these entries; which of two equal ones is told by identity."""
        left = {id(entry) for entry in gone}
        return self._mapped(lambda piece: () if id(piece) in left else (piece,))

    def exchanged(self, old: Entry, new: Entry) -> MemoryFile:
        """Return the file with `new` in the place of `old`; below another heading, or without `old`, it is appended."""
        if old.heading != new.heading or all(piece is not old for piece in self.entries):
            return self.without([old]).appended(new)
        written = self._written(new)
        return self._mapped(lambda piece: (written if piece is old else piece,))

    def appended(self, entry: Entry) -> MemoryFile:
        """Return the file with `entry` as the last below its heading, which is made if it is not there."""
        file = self.completed()
        place = next(place for place, block in enumerate(file.blocks) if block.heading == entry.heading)
        after = "".join(block.text for block in file.blocks[place + 1 :])
        block = _with_entry(file.blocks[place], self._written(entry), after, self.newline)
        return replace(file, blocks=(*file.blocks[:place], block, *file.blocks[place + 1 :]))

    def completed(self) -> MemoryFile:
        """Return the file with each fixed heading in it."""
        blocks = list(self.blocks)
        for number, heading in enumerate(self.headings):
            if any(block.heading == heading for block in blocks):
                continue
            later = self.headings[number + 1 :]
            place = next((p for p, block in enumerate(blocks) if block.heading in later), len(blocks))
            before = "".join(block.text for block in blocks[:place])
            line = f"{_gap(before, self.newline)}## {heading}{self.newline}"
            blocks.insert(place, Block(heading, line, (self.newline,) if place < len(blocks) else ()))
        return replace(self, blocks=tuple(blocks))

    def _written(self, entry: Entry) -> Entry:
        return replace(entry, raw=entry.written(self.newline))

    def _mapped(self, change: Callable[[Piece], tuple[Piece, ...]]) -> MemoryFile:
        blocks = (
            replace(block, body=tuple(new for piece in block.body for new in change(piece))) for block in self.blocks
        )
        return replace(self, blocks=tuple(blocks))


def read_file(text: str, headings: tuple[str, ...]) -> MemoryFile:
    """Return the file that `text` is; its text is `text` again, to the byte."""
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    return MemoryFile(headings, tuple(_block(section, headings) for section in split(text)), newline)


def _block(section: Section, headings: tuple[str, ...]) -> Block:
    heading = next((each for each in headings if each.casefold() == section.title.casefold()), "")
    if section.is_locked or not heading:
        return Block("", "".join(section.lines))
    pieces = (read_entry(heading, raw) if is_item else raw for raw, is_item in items(section.lines[1:]))
    return Block(heading, section.lines[0], tuple(pieces))


def _with_entry(block: Block, entry: Entry, following: str, newline: str) -> Block:
    places = [place for place, piece in enumerate(block.body) if isinstance(piece, Entry)]
    if places:
        before, after = block.body[: places[-1] + 1], block.body[places[-1] + 1 :]
        gap = "" if _raw(before[-1]).endswith("\n") else newline
        return replace(block, body=_pieces(*before, gap, entry, *after))
    said = "".join(map(_raw, block.body))
    core = said.rstrip()
    tail = said[len(core) :]
    line, tail = tail[: tail.find("\n") + 1], tail[tail.find("\n") + 1 :]
    if not core and line and tail:  # the blank line below a bare heading serves as the gap
        return replace(block, body=_pieces(line, entry, tail))
    end = tail or ("" if not following or following.startswith(("\n", "\r\n")) else newline)
    return replace(block, body=_pieces(core + line, _gap(block.head + core + line, newline), entry, end))


def _gap(before: str, newline: str) -> str:
    """Return what makes a blank line after `before`."""
    lines = before[len(before.rstrip("\r\n")) :].count("\n")
    return newline * max(0, 2 - lines) if before else ""


def _raw(piece: Piece) -> str:
    return piece if isinstance(piece, str) else piece.raw


def _pieces(*pieces: Piece) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces if piece != "")
