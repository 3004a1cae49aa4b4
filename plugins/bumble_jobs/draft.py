"""Change a memory file within a job's rights: a person's entries stay, and what was removed is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .authorship import Authorship, Rights
from .entries import Entry, Origin, quoted
from .memory_file import MemoryFile, read_file
from .sections import items


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A move returns the next draft. `removed` has the texts that are gone; `told` says what was not done, and why.

    `wrote` are the fingerprints of what this run wrote.
    """

    path: str
    before: MemoryFile
    file: MemoryFile
    rights: Rights
    wrote: frozenset[str] = frozenset()
    removed: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.file.entries if self.is_own(entry))

    def is_own(self, entry: Entry) -> bool:
        return entry.fingerprint in self.wrote or self.rights.may_change(entry)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Quote everything of the file before that is not in it any more, origins that changed included."""
        kept = {entry.raw.strip() for entry in self.file.entries}
        changed = (entry for entry in self.before.entries if entry.raw.strip() not in kept)
        lines = (f"{entry.text} {entry.origin or ''}".strip() for entry in changed if entry.text not in self.removed)
        return tuple(dict.fromkeys((*self.removed, *lines)))

    def telling(self, what: str) -> Draft:
        return replace(self, told=(*self.told, what))

    def added(self, entry: Entry) -> Draft:
        """Add an entry; one that says what another says makes that one richer by its origin."""
        if not entry.sameness:
            return self.telling("left out an entry without words")
        if not self.rights.may_write(entry.text):
            return self.telling(f"left out {quoted(entry.text)}: it was taken away before")
        if entry.sameness in self._elsewhere():
            return self
        twin = next((each for each in self.file.entries if each.sameness == entry.sameness), None)
        if twin is None:
            return self._wrote(self.file.appended(entry), entry)
        return self._joined(twin, entry) if self.is_own(twin) else self

    def exchanged(self, olds: Sequence[Entry], entry: Entry, *, is_traced: bool) -> Draft:
        """Put `entry` in the place of `olds`; where one of them is a person's, it stays and `entry` says so.

        With `is_traced` the origin tells what stood there before.
        """
        theirs = [old for old in olds if not self.is_own(old)]
        mine = [old for old in olds if self.is_own(old)]
        if not entry.sameness or not mine:
            return self.added(differing(entry, theirs))
        if not self.rights.may_write(entry.text):
            return self.telling(f"left out {quoted(entry.text)}: it was taken away before")
        if any(entry.sameness == each.sameness for each in self.file.entries if each not in mine):
            return self.dropped(mine).added(entry)
        first, *others = mine
        new = _following(entry, first) if is_traced else entry
        new = differing(new, theirs)
        if first.sameness == entry.sameness and first.origin and entry.origin:
            new = replace(entry, origin=first.origin.joined(entry.origin))
        gone = tuple(old.text for old in mine if old.sameness != entry.sameness)
        file = self.file.exchanged(first, new).without(others)
        return replace(self._wrote(file, new), removed=(*self.removed, *gone))

    def dropped(self, entries: Sequence[Entry]) -> Draft:
        """Remove the job's own among `entries`; of a person's it is told that it stays."""
        mine = [entry for entry in entries if self.is_own(entry)]
        draft = replace(self, file=self.file.without(mine), removed=(*self.removed, *(each.text for each in mine)))
        for entry in entries:
            if not self.is_own(entry):
                draft = draft.telling(f"kept {quoted(entry.text)}: a person wrote it")
        return draft

    def deduplicated(self) -> Draft:
        """Merge entries that say the same, wherever they are from."""
        draft = self
        for entry in self.file.entries:
            twins = [each for each in draft.file.entries if each.sameness == entry.sameness]
            spare = [each for each in twins[1:] if draft.is_own(each)]
            if not spare:
                continue
            first = twins[0]
            for each in spare:
                if draft.is_own(first) and first.origin and each.origin:
                    joined = replace(first, origin=first.origin.joined(each.origin))
                    draft = draft._wrote(draft.file.exchanged(first, joined), joined)
                    first = next(e for e in draft.file.entries if e.fingerprint == joined.fingerprint)
            draft = replace(draft, file=draft.file.without(spare))
        return draft

    def trimmed(self, budget: int, headings: Sequence[str]) -> Draft:
        """Remove the job's oldest entries below `headings`, the first of them first, until the file fits."""
        draft = self
        for heading in headings:
            oldest = sorted((e for e in draft.own if e.heading == heading), key=_latest)
            while len(draft.file.text) > budget and oldest:
                entry = oldest.pop(0)
                draft = draft.dropped([entry]).telling(f"dropped {quoted(entry.text)}: the file is full")
        if len(draft.file.text) > budget:
            return draft.telling(f"`{self.path}` has {len(draft.file.text):,} characters, over its {budget:,}")
        return draft

    def _joined(self, twin: Entry, entry: Entry) -> Draft:
        if twin.origin is None or entry.origin is None:
            return self
        joined = replace(twin, origin=twin.origin.joined(entry.origin))
        return self._wrote(self.file.exchanged(twin, joined), joined)

    def _wrote(self, file: MemoryFile, entry: Entry) -> Draft:
        return replace(self, file=file, wrote=self.wrote | {entry.fingerprint})

    def _elsewhere(self) -> set[str]:
        """Return what list items of other sections say, locked ones among them."""
        texts = [block.text for block in self.file.blocks if not block.heading]
        found = (items(tuple(text.splitlines(keepends=True))) for text in texts)
        return {Entry(heading="", text=raw.lstrip("-*+ "), origin=None).sameness for each in found for raw, _ in each}


def begin(path: str, text: str, headings: tuple[str, ...], authorship: Authorship) -> Draft:
    """Return the draft of a file as it stands."""
    file = read_file(text, headings)
    return Draft(path=path, before=file, file=file, rights=authorship.of(path, file.entries))


def differing(entry: Entry, theirs: Sequence[Entry]) -> Entry:
    """Return `entry` with the word that it contradicts one of `theirs`, which stays."""
    if not theirs or entry.origin is None or entry.sameness == theirs[0].sameness:
        return entry
    trace = f"differs from {quoted(theirs[0].text)}"
    return replace(entry, origin=Origin(turns=entry.origin.turns, source=entry.origin.source, trace=trace))


def _latest(entry: Entry) -> int:
    return max(entry.origin.turns) if entry.origin else 0


def _following(entry: Entry, old: Entry) -> Entry:
    if entry.origin is None or old.origin is None:
        return entry
    trace = f"replaces {quoted(old.text)} of turn {_latest(old)}"
    return replace(entry, origin=replace(entry.origin, trace=trace))
