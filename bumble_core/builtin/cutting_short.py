"""Make a reply that was left before its end a completion."""

from __future__ import annotations

from collections.abc import Iterable

from ..chat.answer import AnswerBuilder
from ..chat.estimate import TokenEstimate
from ..types.inference import Completion, Delta, ModelRef, Request


def cut_short(said: Iterable[Delta], ref: ModelRef, request: Request) -> Completion:
    """Return what was said so far, cut by its length; its tokens are estimated, for nobody has counted them."""
    answer = AnswerBuilder(ref)
    for delta in said:
        answer.think(delta.thinking)
        answer.say(delta.text)
    answer.end("length")
    return answer.completion(TokenEstimate()(request))
