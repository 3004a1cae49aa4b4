"""A measurement with a model begins with one question to it: a misspelt name is an error, not a table of figures."""

from __future__ import annotations

from contextlib import aclosing

from ..ports import Inference
from ..types.inference import ModelRef, Profile, Request
from ..types.messages import user

_ONE_WORD = Profile(name="reflex", max_tokens=8, temperature=0.0)


async def reached(inference: Inference, models: tuple[ModelRef, ...]) -> None:
    """Return when one of the models has answered.

    Raises:
        InferenceError: none did.
    """
    question = Request(owner="measure", purpose="probe", models=models, profile=_ONE_WORD, messages=(user("Say yes."),))
    async with aclosing(inference.stream(question)) as answer:
        async for _ in answer:
            pass
