"""Know which entries a job wrote: all others are a person's, and so is what was changed since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from bumble_core.types.base import Value

from .entries import Entry, plain, sameness

_LONGEST = 160  # characters of an entry's text that are remembered
_MOST_TAKEN_AWAY = 60  # of one file


class Authorship(Value):
    """By path: what the job wrote, by fingerprint, and the texts of its entries that a person took away."""

    written: dict[str, dict[str, str]] = {}
    taken_away: dict[str, tuple[str, ...]] = {}

    @classmethod
    def read(cls, note: str) -> Authorship:
        """Return what a job left to itself; a note that cannot be read makes every entry a person's."""
        try:
            return cls.model_validate_json(note) if note else cls()
        except ValidationError:
            return cls()

    @property
    def note(self) -> str:
        return self.model_dump_json()

    def of(self, path: str, entries: Iterable[Entry]) -> Rights:
        """Return what may be done with a file that now has `entries`."""
        found = {entry.fingerprint for entry in entries}
        known = self.written.get(path, {})
        gone = [text for fingerprint, text in known.items() if fingerprint not in found]
        taken = tuple(dict.fromkeys((*self.taken_away.get(path, ()), *gone)))[-_MOST_TAKEN_AWAY:]
        return Rights(own=frozenset(found & known.keys()), taken_away=taken)

    def after(self, path: str, own: Iterable[Entry], rights: Rights) -> Authorship:
        """Return what is known once `path` holds `own`, all that is the job's there."""
        texts = {entry.fingerprint: plain(entry.text, _LONGEST) for entry in own}
        return Authorship(
            written={**self.written, path: texts}, taken_away={**self.taken_away, path: rights.taken_away}
        )


@dataclass(frozen=True, slots=True)
class Rights:
    """`own` are the fingerprints of entries that the job may change; `taken_away` must not come back."""

    own: frozenset[str]
    taken_away: tuple[str, ...] = ()

    def may_change(self, entry: Entry) -> bool:
        return entry.fingerprint in self.own

    def may_write(self, text: str) -> bool:
        wanted = sameness(plain(text, _LONGEST))
        return all(sameness(each) != wanted for each in self.taken_away)
