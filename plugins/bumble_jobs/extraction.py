"""Find in new turns what is worth keeping for long: facts, preferences, projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import Field

from bumble_core import Settings, framed
from bumble_core.ports import Inference
from bumble_core.types.documents import Document
from bumble_core.types.jobs import JobResult, JobSpec, JobView, Write

from .asking import Answer, Question, Shape
from .authorship import Authorship
from .declared import EXTRACTION as SPEC
from .declared import FILES
from .draft import Draft, begin, differing
from .entries import Entry, Origin, new_entry, quoted
from .prompts import EXTRACTION, numbered
from .sources import Said, find_quote, said, tainting
from .transcript import Shown
from .work import ask_about, left_out, profile

Kind = Literal["fact", "inference", "user_preference", "collaboration_preference", "project", "project_knowledge"]
_PLACES: Mapping[Kind, tuple[str, str]] = {
    "fact": ("semantic/facts.md", "Confirmed Facts"),
    "inference": ("semantic/facts.md", "Grounded Inferences"),
    "user_preference": ("semantic/preferences.md", "User Preferences"),
    "collaboration_preference": ("semantic/preferences.md", "Collaboration Preferences"),
    "project": ("semantic/projects.md", "Active Projects"),
    "project_knowledge": ("semantic/projects.md", "Durable Project Knowledge"),
}
_PREFERENCES = "semantic/preferences.md"
_BUDGET = 16_000  # characters of a file: some 200 entries
_LONGEST_OUTPUT = 1500
_MOST = 30


class Found(Shape):
    kind: Kind
    text: str
    turn: int
    quote: str
    replaces: list[int] = Field(default=[], max_length=_MOST)


class Extraction(Shape):
    found: list[Found] = Field(max_length=_MOST)
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found with who said it: an entry's place and origin follow from the record, not from the model."""

    found: Found
    source: Said
    path: str
    entry: Entry


class SemanticExtraction:
    """Keeps what a quotation proves. The record tells who said it, and only the user's own words are preferences."""

    def __init__(self, inference: Inference, settings: Settings) -> None:
        self._inference, self._profile = inference, profile(settings)

    @property
    def spec(self) -> JobSpec:
        return SPEC

    async def run(self, view: JobView) -> JobResult:
        """Add what is new in the oldest unread turns.

        Raises:
            InferenceError: no model gave an answer of which anything is proven.
        """
        if not view.turns:
            return JobResult(summary="nothing new", read=0)
        authorship = Authorship.read(view.note)
        drafts = {
            path: begin(path, view.documents[path].text, headings, authorship).deduplicated()
            for path, headings in FILES.items()
        }
        ask = partial(self._question, drafts)
        shown, answer = await ask_about(self._inference, view, ask, most_output=_LONGEST_OUTPUT)
        drafts, told = _applied(drafts, answer.value, said(shown.turns))
        return self._result(authorship, drafts, (shown, answer), told)

    def problem(self, view: JobView, result: JobResult, documents: Mapping[str, Document]) -> str:
        """Return what is wrong with the files: a heading is missing, or a preference that no user spoke."""
        for write in result.writes:
            if missing := left_out(documents[write.path].text, FILES[write.path]):
                return f"`{write.path}`: {missing}"
        texts = [write.text for write in result.writes if write.path == _PREFERENCES]
        for entry in (
            e for text in texts for e in begin(_PREFERENCES, text, FILES[_PREFERENCES], Authorship()).file.entries
        ):
            if entry.origin and entry.origin.source and entry.text not in view.documents[_PREFERENCES].text:
                return f"a preference that the user did not say: {entry.text}"
        return ""

    def _question(self, drafts: Mapping[str, Draft], shown: Shown) -> Question[Extraction]:
        known = _known(drafts)
        theirs = [entry for path, entry in known if not drafts[path].is_own(entry)]
        parts = [framed("known entries", numbered([entry for _, entry in known], protected=theirs)), shown.text]
        if taken_away := [text for draft in drafts.values() for text in draft.rights.taken_away]:
            parts.append(framed("taken away by the user, not to come back", "\n".join(taken_away)))
        return Question(
            instruction=EXTRACTION,
            material="\n\n".join(parts),
            shape=Extraction,
            problem=partial(_problem, len(known), said(shown.turns)),
            profile=self._profile,
        )

    def _result(
        self,
        authorship: Authorship,
        drafts: Mapping[str, Draft],
        asked: tuple[Shown, Answer[Extraction]],
        told: list[str],
    ) -> JobResult:
        shown, answer = asked
        for path, draft in drafts.items():
            authorship = authorship.after(path, draft.own, draft.rights)
        kept = sum(len(draft.wrote) for draft in drafts.values())
        summary = f"read {len(shown.turns)} turns, {kept} entries written"
        if not answer.value.found:
            told = [f"nothing found: {answer.value.nothing}", *told]
        return JobResult(
            summary="; ".join([summary, *told, *(each for draft in drafts.values() for each in draft.told)]),
            read=len(shown.turns),
            writes=tuple(Write(path=path, text=draft.file.completed().text) for path, draft in drafts.items()),
            removed=tuple(text for draft in drafts.values() for text in draft.left_out),
            note=authorship.note,
            model=answer.model,
            attempts=answer.attempts,
        )


def _known(drafts: Mapping[str, Draft]) -> list[tuple[str, Entry]]:
    return [(path, entry) for path, draft in drafts.items() for entry in draft.file.entries]


def _problem(known: int, record: Sequence[Said], answer: Extraction) -> str:
    if not answer.found:
        return "" if answer.nothing.strip() else "`found` is empty; say in `nothing` why"
    named = [number for each in answer.found for number in each.replaces]
    if strays := [number for number in named if not 1 <= number <= known]:
        return f"there is no known entry {strays[0]}"
    if any(find_quote(each.quote, each.turn, record) for each in answer.found):
        return ""
    return "no `quote` stands in the record; copy words of it exactly"


def _applied(
    drafts: Mapping[str, Draft], answer: Extraction, record: Sequence[Said]
) -> tuple[dict[str, Draft], list[str]]:
    """Return the drafts with what is proven, and what was left out and why."""
    known, after, told = _known(drafts), dict(drafts), list[str]()
    gone: set[int] = set()
    for found in answer.found:
        judged = _judged(found, record)
        if isinstance(judged, str):
            told.append(f"left out {quoted(found.text)}: {judged}")
            continue
        olds = [known[number - 1] for number in dict.fromkeys(found.replaces) if number not in gone]
        gone |= set(found.replaces)
        after = _with(after, judged, olds)
    return {path: draft.trimmed(_BUDGET, tuple(reversed(FILES[path]))) for path, draft in after.items()}, told


def _judged(found: Found, record: Sequence[Said]) -> Judged | str:
    """Return the entry that the record allows, or why there is none."""
    evidence = find_quote(found.quote, found.turn, record)
    if evidence is None:
        return "its quotation is not in the record"
    source = tainting(found.text, record) or evidence
    path, heading = _PLACES[found.kind]
    if path == _PREFERENCES and (source.who != "user" or evidence.who != "user"):
        return "the user did not say it"
    if found.kind == "fact" and (source.who == "assistant" or source.is_web):
        path, heading = _PLACES["inference"]
    origin = Origin(turns=(source.turn,), source=source.source)
    return Judged(found, source, path, new_entry(heading, found.text, origin))


def _with(drafts: dict[str, Draft], judged: Judged, olds: Sequence[tuple[str, Entry]]) -> dict[str, Draft]:
    """Put an entry in; it takes the place of `olds`, but not of the user's words when it is not of them itself."""
    entry, path = judged.entry, judged.path
    spoken = [old for _, old in olds if judged.source.who != "user" and not (old.origin and old.origin.source)]
    if spoken:
        return {**drafts, path: drafts[path].added(differing(entry, spoken))}
    here = [old for place, old in olds if place == path]
    after = {**drafts, path: drafts[path].exchanged(here, entry, is_traced=True)}
    for place, old in olds:
        if place != path:
            after[place] = after[place].dropped([old])
    return after
