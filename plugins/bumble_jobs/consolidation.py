"""Fold turns that were not read yet into the working memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from bumble_core import Settings, framed
from bumble_core.ports import Inference
from bumble_core.types.documents import Document
from bumble_core.types.jobs import JobResult, JobSpec, JobView, Write
from bumble_core.types.turn import Turn

from .asking import Question, Shape
from .authorship import Authorship
from .declared import CONSOLIDATION as SPEC
from .declared import HEADINGS, WORKING_MEMORY
from .draft import Draft, begin
from .entries import Entry, Origin, new_entry
from .prompts import CONSOLIDATION, numbered
from .sources import Said, said, tainting
from .transcript import Shown
from .work import ask_about, left_out, profile

Heading = Literal[
    "Current Priorities", "Active Tasks", "Open Threads", "Recent Progress", "Pending Checks", "Temporary Context"
]
_KEPT = ("Active Tasks", "Open Threads")  # leave when they are completed, and for no other reason
_FIRST_TO_LEAVE = ("Temporary Context", "Recent Progress", "Pending Checks", "Current Priorities")
_BUDGET = 6000  # characters: the prompt shows this file in each turn
_LONGEST_OUTPUT = 1500  # characters of one tool's output: the course of things, not their details
_MOST = 40


class Drop(Shape):
    entry: int
    why: Literal["completed", "stale"]
    turn: int | None = None


class Addition(Shape):
    heading: Heading
    text: str
    turn: int


class Change(Addition):
    entries: list[int] = Field(min_length=1, max_length=_MOST)


class Consolidated(Shape):
    drop: list[Drop] = Field(max_length=_MOST)
    change: list[Change] = Field(max_length=_MOST)
    add: list[Addition] = Field(max_length=_MOST)


class Consolidation:
    """The model says what changes, and the file is changed by that alone: what it forgets to mention stays."""

    def __init__(self, inference: Inference, settings: Settings) -> None:
        self._inference, self._profile = inference, profile(settings)

    @property
    def spec(self) -> JobSpec:
        return SPEC

    async def run(self, view: JobView) -> JobResult:
        """Bring the working memory up to date from the oldest unread turns.

        Raises:
            InferenceError: no model gave an answer that can be applied.
        """
        if not view.turns:
            return JobResult(summary="nothing new", read=0)
        authorship = Authorship.read(view.note)
        draft = begin(WORKING_MEMORY, view.documents[WORKING_MEMORY].text, HEADINGS, authorship).deduplicated()
        ask = partial(self._question, draft)
        shown, answer = await ask_about(self._inference, view, ask, most_output=_LONGEST_OUTPUT)
        draft = _applied(draft, answer.value, said(shown.turns)).trimmed(_BUDGET, _FIRST_TO_LEAVE)
        text = draft.file.completed().text
        told = [f"folded {len(shown.turns)} turns", f"{len(draft.wrote)} written", f"{len(draft.removed)} removed"]
        return JobResult(
            summary="; ".join([", ".join(told), *draft.told]),
            read=len(shown.turns),
            writes=(Write(path=WORKING_MEMORY, text=text),),
            removed=draft.left_out,
            note=authorship.after(WORKING_MEMORY, draft.own, draft.rights).note,
            model=answer.model,
            attempts=answer.attempts,
        )

    def problem(self, view: JobView, result: JobResult, documents: Mapping[str, Document]) -> str:
        """Return what is missing: every heading is there, and no task or thread left without a word."""
        if not result.writes:
            return ""
        before = begin(WORKING_MEMORY, view.documents[WORKING_MEMORY].text, HEADINGS, Authorship())
        after = begin(WORKING_MEMORY, result.writes[0].text, HEADINGS, Authorship())
        kept = [entry.sameness for entry in after.file.entries]
        gone = [entry for heading in _KEPT for entry in before.file.under(heading) if entry.sameness not in kept]
        if unsaid := [entry.text for entry in gone if entry.text not in result.removed]:
            return f"an active entry is gone without a word: {unsaid[0]}"
        return left_out(documents[WORKING_MEMORY].text, HEADINGS)

    def _question(self, draft: Draft, shown: Shown) -> Question[Consolidated]:
        entries = draft.file.entries
        theirs = [entry for entry in entries if not draft.is_own(entry)]
        parts = [framed("working memory", numbered(entries, protected=theirs)), shown.text]
        if draft.rights.taken_away:
            parts.append(framed("taken away by the user, not to come back", "\n".join(draft.rights.taken_away)))
        if len(draft.file.text) > _BUDGET:
            parts.append("The working memory is too long: merge and shorten entries.")
        return Question(
            instruction=CONSOLIDATION + ", ".join(HEADINGS) + ".",
            material="\n\n".join(parts),
            shape=Consolidated,
            problem=partial(_problem, entries, shown.turns),
            profile=self._profile,
        )


def _problem(entries: Sequence[Entry], turns: Sequence[Turn], answer: Consolidated) -> str:
    numbers = [turn.number for turn in turns]
    named = [each.entry for each in answer.drop] + [number for each in answer.change for number in each.entries]
    if strays := [number for number in named if not 1 <= number <= len(entries)]:
        return f"there is no entry {strays[0]}"
    if twice := [number for number in named if named.count(number) > 1]:
        return f"entry {twice[0]} is named twice"
    told = [each.turn for each in (*answer.add, *answer.change)]
    told += [each.turn for each in answer.drop if each.turn is not None]
    if strays := [turn for turn in told if turn not in numbers]:
        return f"turn {strays[0]} is not in the record, which has {', '.join(map(str, numbers))}"
    for each in answer.drop:
        if entries[each.entry - 1].heading in _KEPT and (each.why != "completed" or each.turn is None):
            return f"entry {each.entry} is active: drop it only as completed, with the turn in which it was"
    return ""


def _applied(draft: Draft, answer: Consolidated, record: Sequence[Said]) -> Draft:
    entries = draft.file.entries
    for change in answer.change:
        olds = [entries[number - 1] for number in change.entries]
        draft = draft.exchanged(olds, _entry(change, record), is_traced=False)
    draft = draft.dropped([entries[each.entry - 1] for each in answer.drop])
    for addition in answer.add:
        draft = draft.added(_entry(addition, record))
    return draft


def _entry(addition: Addition, record: Sequence[Said]) -> Entry:
    taint = tainting(addition.text, [one for one in record if one.turn == addition.turn])
    return new_entry(
        addition.heading, addition.text, Origin(turns=(addition.turn,), source=taint.source if taint else "")
    )
