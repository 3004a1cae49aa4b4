"""A review as it stands in its file, and the earlier ones beside it."""

from __future__ import annotations

import re
from typing import Literal, get_args

from bumble_core.types.base import Value

from .entries import Origin, plain, read_entry
from .sections import items, split

Verdict = Literal["pass", "fail", "partial"]

_MOST_EARLIER = 12_000  # characters
_TITLE = "# Earlier reviews"
_FIELD = re.compile(r"^- (?P<name>Verdict|Turns|Run): (?P<value>.+?)\s*$", re.MULTILINE)
_LONGEST = 400


class Finding(Value):
    """One line of evidence, or one issue."""

    text: str
    turn: int

    @classmethod
    def of(cls, text: str, turn: int) -> Finding:
        return cls(text=plain(text, _LONGEST) or "(no words)", turn=turn)

    @property
    def line(self) -> str:
        return f"- {self.text} {Origin(turns=(self.turn,))}\n"


class Review(Value):
    """What was found of the turns `first` to `last`, by the run `run`."""

    verdict: Verdict
    first: int
    last: int
    run: str
    evidence: tuple[Finding, ...]
    issues: tuple[Finding, ...] = ()

    @property
    def turns_told(self) -> str:
        if self.first == self.last:
            return f"turn {self.first}"
        return f"turns {self.first} to {self.last}"

    @property
    def is_consistent(self) -> bool:
        return bool(self.evidence) and (self.verdict == "pass") == (not self.issues)

    @property
    def text(self) -> str:
        """The whole file."""
        turns = self.turns_told.split(" ", 1)[1]
        head = f"# Verification review\n\n- Verdict: {self.verdict}\n- Turns: {turns}\n- Run: {self.run}\n"
        evidence = "".join(each.line for each in self.evidence)
        issues = "".join(each.line for each in self.issues)
        return f"{head}\n## Evidence\n\n{evidence}\n## Issues\n" + (f"\n{issues}" if issues else "")

    @property
    def section(self) -> str:
        """The review as one of the earlier ones."""
        evidence = "".join(each.line for each in self.evidence)
        issues = "".join(each.line for each in self.issues)
        title = f"## {self.turns_told.capitalize()}: {self.verdict}\n"
        found = f"\n### Issues\n\n{issues}" if issues else ""
        return f"{title}\n### Evidence\n\n{evidence}{found}"


def read_review(text: str) -> Review | None:
    """Return the review that a file holds; None where it holds none."""
    fields = {found["name"]: found["value"] for found in _FIELD.finditer(text)}
    numbers = re.findall(r"\d+", fields.get("Turns", ""))
    verdict = next((each for each in get_args(Verdict) if each == fields.get("Verdict")), None)
    if verdict is None or not numbers:
        return None
    return Review(
        verdict=verdict,
        first=int(numbers[0]),
        last=int(numbers[-1]),
        run=fields.get("Run", ""),
        evidence=_findings(text, "Evidence"),
        issues=_findings(text, "Issues"),
    )


def with_earlier(earlier: str, latest: str) -> str:
    """Return the file of earlier reviews with `latest`, a whole review, put first.

    The oldest leave when the file is full; what a person wrote into either file stays.
    """
    review = read_review(latest)
    if review is None:
        return earlier
    sections = split(earlier) if earlier.strip() else ()
    own = [section for section in sections if section.title.casefold().startswith("turn") and not section.is_locked]
    others = "".join("".join(section.lines) for section in sections if section not in own).strip("\n")
    newest = review.section if review.text == latest else _edited(review, latest)
    kept, room = [f"{others or _TITLE}\n"], _MOST_EARLIER - len(others)
    for section in (newest, *("".join(section.lines).strip("\n") + "\n" for section in own)):
        room -= len(section) + 1
        if room < 0:
            break
        kept.append(section)
    return "\n".join(kept)


def _edited(review: Review, text: str) -> str:
    """Return the file of a review that a person changed, as a section."""
    lines = [line for line in text.strip("\n").splitlines() if not line.startswith("# ")]
    body = "\n".join(f"#{line}" if line.startswith("## ") else line for line in lines).strip("\n")
    return f"## {review.turns_told.capitalize()}: {review.verdict}\n\n{body}\n"


def _findings(text: str, title: str) -> tuple[Finding, ...]:
    sections = [section for section in split(text) if section.title == title]
    raws = [raw for section in sections for raw, is_item in items(section.lines[1:]) if is_item]
    entries = [read_entry(title, raw) for raw in raws]
    return tuple(Finding(text=each.text, turn=each.origin.turns[0]) for each in entries if each.origin)
