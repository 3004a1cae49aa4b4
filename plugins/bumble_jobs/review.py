"""Check the agent's work against the evidence, and leave a verdict with its grounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from bumble_core import Settings
from bumble_core.ports import Inference
from bumble_core.types.documents import Document
from bumble_core.types.jobs import JobResult, JobSpec, JobView, Write
from bumble_core.types.turn import Turn

from .asking import Question, Shape
from .declared import EARLIER, LATEST
from .declared import REVIEW as SPEC
from .prompts import REVIEW
from .review_file import Finding, Review, read_review, with_earlier
from .sources import find_quote, said
from .transcript import Shown
from .work import ask_about, profile

_MOST = 12


class Evidence(Shape):
    checked: str
    found: str
    turn: int
    quote: str


class Issue(Shape):
    text: str
    turn: int


class ReviewAnswer(Shape):
    verdict: Literal["pass", "fail", "partial"]
    evidence: list[Evidence] = Field(min_length=1, max_length=_MOST)
    issues: list[Issue] = Field(max_length=_MOST)


class VerificationReview:
    """Reviews each turn once. A piece of evidence counts when its quotation stands in the record."""

    def __init__(self, inference: Inference, settings: Settings) -> None:
        self._inference, self._profile = inference, profile(settings)

    @property
    def spec(self) -> JobSpec:
        return SPEC

    async def run(self, view: JobView) -> JobResult:
        """Review the oldest turns that were not reviewed yet.

        Raises:
            InferenceError: no model gave a review whose evidence stands in the record.
        """
        if not view.turns:
            return JobResult(summary="no turn to review", read=0)
        shown, answer = await ask_about(self._inference, view, self._question)
        review = _review(answer.value, shown.turns, view.run_id)
        before = view.documents[LATEST].text
        latest = Write(path=LATEST, text=review.text)
        earlier = Write(path=EARLIER, text=with_earlier(view.documents[EARLIER].text, before))
        count = len(review.issues)
        return JobResult(
            summary=f"{review.turns_told}: {review.verdict}, {count} issue{'' if count == 1 else 's'}",
            read=len(shown.turns),
            writes=(earlier, latest) if earlier.text else (latest,),
            removed=tuple(line for text in (before, view.documents[EARLIER].text) for line in text.splitlines()),
            model=answer.model,
            attempts=answer.attempts,
        )

    def problem(self, view: JobView, result: JobResult, documents: Mapping[str, Document]) -> str:
        """Return what is wrong with the review that was left: it is one, and it is of the turns that were shown."""
        if not result.read:
            return ""
        review = read_review(documents[LATEST].text)
        if review is None:
            return f"`{LATEST}` holds no review"
        if review.run != view.run_id:
            return f"`{LATEST}` is not the review of this run"
        return "" if review.is_consistent else "the verdict and the issues do not agree"

    def _question(self, shown: Shown) -> Question[ReviewAnswer]:
        return Question(
            instruction=REVIEW,
            material=f"The turns to review:\n\n{shown.text}",
            shape=ReviewAnswer,
            problem=partial(_problem, shown.turns),
            profile=self._profile,
        )


def _problem(turns: Sequence[Turn], answer: ReviewAnswer) -> str:
    if answer.verdict == "pass" and answer.issues:
        return "`verdict` is `pass`, but there are issues"
    if answer.verdict != "pass" and not answer.issues:
        return f"`verdict` is `{answer.verdict}`, but `issues` says nothing"
    numbers = [turn.number for turn in turns]
    if strays := [each.turn for each in answer.issues if each.turn not in numbers]:
        return f"`issues` names turn {strays[0]}; the record has {', '.join(map(str, numbers))}"
    record = said(turns)
    found = [one for each in answer.evidence if (one := find_quote(each.quote, each.turn, record))]
    if not found:
        return "no `quote` stands in the record; copy words of it exactly"
    has_worked = any(one.who == "tool" for one in record)
    if answer.verdict == "pass" and has_worked and not any(one.who == "tool" for one in found):
        return "`verdict` is `pass`, but no `quote` is of what a tool put out or changed; claims are no evidence"
    return ""


def _review(answer: ReviewAnswer, turns: Sequence[Turn], run: str) -> Review:
    record = said(turns)
    evidence = []
    for each in answer.evidence:
        found = find_quote(each.quote, each.turn, record)
        if found is not None:
            evidence.append(Finding.of(f"{each.checked.rstrip('.:')}: {each.found}", found.turn))
    return Review(
        verdict=answer.verdict,
        first=turns[0].number,
        last=turns[-1].number,
        run=run,
        evidence=tuple(evidence),
        issues=tuple(Finding.of(each.text, each.turn) for each in answer.issues),
    )
