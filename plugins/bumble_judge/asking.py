"""Ask a model one short question about a turn, and read its answer strictly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bumble_core import Settings, complete, user
from bumble_core.ports import Inference
from bumble_core.types.inference import ModelRef, Profile, Request
from bumble_core.types.messages import system
from bumble_core.types.turn import TurnContext

from .framed import asked, framed
from .questions import Question

_LONGEST_ANSWER = 96  # tokens
_LONGEST_REASON = 240  # characters
_QUOTED = 30  # so many characters in a row are no accident
_ANSWER = re.compile(r"[\s\"'`*_>#-]*(DONE|CONTINUE|UNSURE)\b[*`]*\s*(?:[:：.,;!-]\s*(.*)|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said of a turn. `unclear` is an answer in any other form than the two that were asked for."""

    kind: Literal["done", "continue", "unclear"]
    text: str
    model: str


class Asking:
    """One call per judgement on the reflex profile; a second, deliberate one where `gate.escalate` allows it."""

    def __init__(self, inference: Inference, tools: tuple[str, ...], settings: Settings) -> None:
        self._inference, self._tools, self._gate = inference, tools, settings.gate
        self._reflex = Profile(name="reflex", max_tokens=_LONGEST_ANSWER, temperature=0)
        self._deliberate = Profile(
            name="deliberate", max_tokens=settings.cognition.deliberate_max_tokens, thinking=True, temperature=0
        )

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        """Return the answer to `question`.

        Raises:
            InferenceError: no model answered.
        """
        own = (ModelRef.parse(self._gate.judge_model),) if self._gate.judge_model else turn.route.models
        answer = await self._once(question, turn, own, self._reflex)
        if answer.kind != "unclear" or not self._gate.escalate:
            return answer
        return await self._once(question, turn, turn.route.models, self._deliberate)

    async def _once(
        self, question: Question, turn: TurnContext, models: tuple[ModelRef, ...], profile: Profile
    ) -> Answer:
        words = question.words(may_be_unsure=self._gate.escalate and profile is self._reflex)
        request = Request(
            owner=turn.input.id,
            purpose="judge",
            models=models,
            profile=profile,
            messages=(system(words), user(framed(turn, self._tools))),
        )
        completion = await complete(self._inference, request)
        return parsed(completion.message.text, str(completion.model))


def parsed(text: str, model: str) -> Answer:
    """Read an answer: its first line begins with one of the words that were asked for."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    found = _ANSWER.match(first)
    if found is None or found[1].upper() == "UNSURE":
        return Answer("unclear", " ".join(text.split())[:_LONGEST_REASON], model)
    reason = " ".join((found[2] or "").split())[:_LONGEST_REASON]
    return Answer("done" if found[1].upper() == "DONE" else "continue", reason, model)


def is_quoted(reason: str, turn: TurnContext) -> bool:
    """Tell whether a reason repeats what stands in the turn: then others, not the judge, may have chosen its words."""
    data = _plain("\n".join((*(each.text for each in turn.previews), turn.visible_text, asked(turn))))
    given = _plain(reason)
    return any(given[at : at + _QUOTED] in data for at in range(max(1, len(given) - _QUOTED + 1))) if given else False


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
