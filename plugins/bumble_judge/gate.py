"""The completion gate: checks in their order, of which only the certain ones decide where a model can be asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bumble_core import InferenceError, Settings
from bumble_core.errors import BudgetSpent
from bumble_core.languages import words
from bumble_core.ports import Inference
from bumble_core.types.languages import LanguagePack
from bumble_core.types.turn import TurnContext, Verdict

from . import form
from .asking import Answer, Asking, is_quoted
from .framed import asked
from .hints import Hints
from .questions import ADEQUACY, GROUNDING, Question

_THIN = 4  # letters: "OK", "да", "はい" is longer but on the lists
_LITTLE = 8  # letters of a request, at least, that wants more than a word
_BRIEF = 140  # letters of an answer that can hardly hold a result
_SOME = 16  # letters of a request that is more than a remark
_MOST_NAMED = 4
_TELLING = 4  # letters of a word that a text hardly shares with a result by chance
_LOOKS = re.compile(r"(?:^|_)(?:read|list|search|find|get|fetch|look|show|view|query|check|browse|grep)(?:_|$)")


@dataclass(frozen=True, slots=True)
class Ending:
    """A turn as the checks see it: all that the user has seen in it, and what was done for it."""

    turn: TurnContext
    asked: str
    seen: str

    @classmethod
    def of(cls, turn: TurnContext) -> Ending:
        return cls(turn, asked(turn), turn.visible_text.strip())

    @property
    def has_worked(self) -> bool:
        """True when a work tool gave something that counts as evidence."""
        return any(each.status == "ok" for each in self.turn.work_results)

    @property
    def has_done(self) -> bool:
        """True when a work tool gave something and, by its name, did more than look at what is there."""
        return any(each.status == "ok" and not _LOOKS.search(each.name) for each in self.turn.work_results)

    @property
    def shows_results(self) -> bool:
        """True when a word or number stands in what was seen that the user did not say and a tool gave."""
        given = {word for each in self.turn.previews if each.status == "ok" for word in words(each.text)}
        told = given & set(words(self.seen)) - set(words(self.asked))
        return any(len(word) >= _TELLING or word.isdigit() for word in told)

    @property
    def may_be_vague(self) -> bool:
        """True when words that mostly announce can be taken to do so: little was said, and no question was asked."""
        return self.is_brief and not form.asks(self.asked) and not self.has_worked

    @property
    def last_work_failed(self) -> bool:
        results = self.turn.work_results
        return bool(results) and results[-1].status in ("error", "timeout")

    @property
    def is_brief(self) -> bool:
        """True when so little was seen, and no figure, that it can hardly be a result."""
        return form.size(self.seen) <= _BRIEF and not any(each.isdigit() for each in self.seen)

    @property
    def wants_work(self) -> bool:
        """True when the user wants something looked up or done, as far as the router can tell."""
        return self.turn.route.grounded or self.turn.route.label == "GROUNDED"

    @property
    def evidence(self) -> tuple[str, ...]:
        """What a verdict rests on, for whoever reads it later."""
        works = (f"{each.tool}: {each.status}" for each in self.turn.previews)
        return (f"{len(self.seen)} characters seen", *works)


Check = Callable[[Ending], Verdict | None]


class CompletionGate:
    """Judges all that the user saw in a turn: delivered texts and the closing text, in order."""

    def __init__(self, asking: Asking, hints: Hints, tools: Sequence[str], settings: Settings) -> None:
        self._asking, self._hints, self._settings = asking, hints, settings.gate
        self._tools = tuple(tools)
        self.certain: tuple[Check, ...] = (self._nothing_seen, self._cut, self._wordless, self._small_talk)
        self.guesses: tuple[Check, ...] = (
            self._announced,
            self._thin_after_failure,
            self._acknowledged,
            self._echo,
            self._only_said,
        )

    async def judge(self, turn: TurnContext) -> Verdict:
        """Return the first verdict of: the certain checks, a model, the guesses."""
        ending = Ending.of(turn)
        if (verdict := _first(self.certain, ending)) is not None:
            return verdict
        if turn.input.gate == "heuristics":
            return self._guessed(ending)
        question = GROUNDING if turn.work_results or turn.route.grounded else ADEQUACY
        try:
            answer = await self._asking.ask(question, turn)
        except BudgetSpent as error:
            return self._guessed(ending, f"no model was asked: {error}")
        except InferenceError as error:
            return self._unjudged(ending, f"no model could be asked: {error}")
        if answer.kind == "unclear":
            return self._unjudged(ending, f"{answer.model} gave no clear answer: {answer.text!r}")
        return self._answered(ending, question, answer)

    def _answered(self, ending: Ending, question: Question, answer: Answer) -> Verdict:
        evidence = (question.name, *self._hinted(ending), *ending.evidence)
        if answer.kind == "done":
            reason = answer.text or "what was asked for was given"
            return Verdict(done=True, decided_by="model", reason=reason, evidence=evidence)
        problem, remedy = "", answer.text
        if is_quoted(answer.text, ending.turn):
            problem, remedy = "the judge's reason repeats the data, so the model is not shown it", ""
        nudge = f"Your turn is not over: {remedy or question.remedy}"
        reason = answer.text or f"no, as to {question.name}"
        return Verdict(done=False, decided_by="model", reason=reason, nudge=nudge, evidence=evidence, problem=problem)

    def _guessed(self, ending: Ending, problem: str = "") -> Verdict:
        verdict = _first(self.guesses, ending) or _done("there is a visible reply", ending)
        return verdict.model_copy(update={"problem": problem})

    def _unjudged(self, ending: Ending, problem: str) -> Verdict:
        """Refuse where a guess does; otherwise do as `gate.on_error` says."""
        verdict = _first(self.guesses, ending)
        if verdict is None and self._settings.on_error == "reject":
            remedy = "What you said could not be checked. Do what is left to do, and tell the user the outcome."
            verdict = _refused("gate.on_error is `reject`", remedy, ending)
        verdict = verdict or _done("gate.on_error is `accept`", ending)
        return verdict.model_copy(update={"problem": problem})

    def _nothing_seen(self, ending: Ending) -> Verdict | None:
        if ending.seen:
            return None
        return _refused("nothing was said", "The user has seen nothing yet. Answer them now, in words.", ending)

    def _cut(self, ending: Ending) -> Verdict | None:
        last = ending.turn.last
        if last is None or last.finish != "length":
            return None
        return _refused("the reply was cut by its length", "Your reply was cut. Bring it to an end, briefly.", ending)

    def _wordless(self, ending: Ending) -> Verdict | None:
        if not form.is_wordless(ending.seen):
            return None
        return _refused("not a word was said", "The user has seen no words yet. Answer them now.", ending)

    def _small_talk(self, ending: Ending) -> Verdict | None:
        """Accept any words on a greeting or a reaction, for which nothing has to be done."""
        is_small = form.is_reaction(ending.asked) or self._hints.is_small_talk(ending.asked)
        if not is_small or ending.turn.work_results or ending.turn.route.grounded or self._hinted(ending):
            return None
        return _done("a greeting or a reaction was answered", ending)

    def _announced(self, ending: Ending) -> Verdict | None:
        if ending.has_done or self._hints.is_mostly_small_talk(ending.asked):
            return None
        if ending.has_worked and (ending.shows_results or self._hints.assents(ending.seen)):
            return None
        hint = self._hints.announces(ending.seen, ending.asked, loosely=ending.may_be_vague)
        if not hint.covers:
            return None
        remedy = f"You announced something and did not do it. Do it now{self._with_a_tool()}, or say that you cannot."
        return _refused(f"nearly all of it only announces: {', '.join(hint.phrases)}", remedy, ending)

    def _thin_after_failure(self, ending: Ending) -> Verdict | None:
        is_thin = form.size(ending.seen) <= _THIN or self._hints.is_pro_forma(ending.seen)
        if not ending.last_work_failed or not is_thin or form.size(ending.asked) < _LITTLE:
            return None
        remedy = "Your last tool call failed and the user does not know. Try another way, or tell them what failed."
        return _refused("the last work failed and next to nothing was said of it", remedy, ending)

    def _acknowledged(self, ending: Ending) -> Verdict | None:
        is_pro_forma = ending.wants_work and self._hints.is_pro_forma(ending.seen)
        is_sign = form.is_reaction(ending.seen) and form.size(ending.asked) >= _SOME and not form.asks(ending.asked)
        if ending.has_worked or not (is_pro_forma or is_sign) or self._hints.is_mostly_small_talk(ending.asked):
            return None
        remedy = f"That was only an acknowledgement. Do what was asked{self._with_a_tool()}, or say that you cannot."
        return _refused("it was only acknowledged", remedy, ending)

    def _echo(self, ending: Ending) -> Verdict | None:
        if ending.has_worked or form.size(ending.asked) < _SOME or not form.is_echo(ending.seen, ending.asked):
            return None
        return _refused("the user's own words were repeated", "You repeated the user's words. Answer them.", ending)

    def _only_said(self, ending: Ending) -> Verdict | None:
        """Let a first step of `say` alone go on: it may announce work, in any language."""
        if ending.turn.said_in_a_row != 1:
            return None
        remedy = "If that was all, end your turn now. If you announced something, do it now."
        return _refused("what was said may announce more", remedy, ending)

    def _hinted(self, ending: Ending) -> tuple[str, ...]:
        return tuple(f"hint: {phrase}" for phrase in self._hints.announces(ending.seen).phrases)

    def _with_a_tool(self) -> str:
        names = ", ".join(f"`{name}`" for name in self._tools[:_MOST_NAMED])
        return f" with a tool ({names})" if names else ""


def completion_gate(
    inference: Inference, tools: tuple[str, ...], languages: tuple[LanguagePack, ...], settings: Settings
) -> CompletionGate:
    """Return the judge; `tools` are the names of those that work."""
    return CompletionGate(Asking(inference, tools, settings), Hints(languages), tools, settings)


def _first(checks: Sequence[Check], ending: Ending) -> Verdict | None:
    return next((verdict for check in checks if (verdict := check(ending)) is not None), None)


def _done(reason: str, ending: Ending) -> Verdict:
    return Verdict(done=True, decided_by="heuristic", reason=reason, evidence=ending.evidence)


def _refused(reason: str, nudge: str, ending: Ending) -> Verdict:
    return Verdict(done=False, decided_by="heuristic", reason=reason, nudge=nudge, evidence=ending.evidence)
