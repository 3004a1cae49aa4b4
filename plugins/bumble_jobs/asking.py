"""Ask for an answer of a given shape: one repair for an invalid one, then the next model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.config import JsonDict

from bumble_core import InferenceError, assistant, complete, user
from bumble_core.errors import AllModelsFailed, ContextOverflow, MalformedReply
from bumble_core.ports import Inference
from bumble_core.types.inference import Attempt, Completion, ModelRef, Profile, Request
from bumble_core.types.jobs import JobView
from bumble_core.types.messages import Message, system

log = structlog.get_logger(__name__)

_MOST_PROBLEMS = 5

M = TypeVar("M", bound="Shape")


def _close(schema: JsonDict) -> None:
    """Close an object and require all that it may hold: what servers want that force a schema to the letter."""
    properties = schema.get("properties")
    if isinstance(properties, dict):
        schema["additionalProperties"] = False
        schema["required"] = list(properties)
        for each in properties.values():
            if isinstance(each, dict):
                each.pop("default", None)


class Shape(BaseModel):
    """Base of what models answer: what they are asked for is stricter than what is taken."""

    model_config = ConfigDict(json_schema_extra=_close)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Generic[M]):
    """What is asked. `problem` returns what is wrong with an answer of the right shape; empty: nothing."""

    instruction: str
    material: str
    shape: type[M]
    problem: Callable[[M], str]
    profile: Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[M]):
    """A valid answer, who gave it, and everything that failed before it."""

    value: M
    model: ModelRef
    attempts: tuple[Attempt, ...]


async def ask(inference: Inference, view: JobView, question: Question[M]) -> Answer[M]:
    """Return the first valid answer of the view's models, in their order.

    Raises:
        InferenceError: no model is configured.
        ContextOverflow: the question does not fit a model that should answer it.
        AllModelsFailed: nobody gave a valid answer; `attempts` says what each one did.
    """
    if not view.models:
        raise InferenceError("no model is configured; name one under `agent.models`")
    models, failed = view.models, list[tuple[str, InferenceError]]()
    attempts: tuple[Attempt, ...] = ()
    while models:
        walk = _Walk(inference, view.run_id, question)
        try:
            completion = await walk.first(models)
        except ContextOverflow:
            raise
        except InferenceError as error:
            failed += error.attempts if isinstance(error, AllModelsFailed) else [(str(models[-1]), error)]
            break
        value = await walk.value(completion)
        attempts += walk.attempts
        failed += [(str(each.model), MalformedReply(each.error)) for each in walk.attempts]
        if value is not None:
            return Answer(value=value, model=completion.model, attempts=attempts)
        models = _after(completion.model, models)
    raise AllModelsFailed(tuple(failed))


class _Walk(Generic[M]):
    """One walk through the fallback order: an answer, and once its repair."""

    def __init__(self, inference: Inference, run_id: str, question: Question[M]) -> None:
        self._inference, self._run_id, self._question = inference, run_id, question
        self.attempts: tuple[Attempt, ...] = ()

    async def first(self, models: tuple[ModelRef, ...]) -> Completion:
        completion = await self._asked(models, ())
        self.attempts += completion.failed_attempts
        return completion

    async def value(self, completion: Completion) -> M | None:
        """Return the answer in `completion`, or in its repair by the same model; None where both are invalid."""
        value, problem = self._read(completion)
        if value is not None:
            return value
        self._note(completion.model, problem)
        said = completion.message.text.strip() or "(nothing)"
        correction = user(f"That answer cannot be used: {problem}. Answer again, with one JSON object only.")
        try:
            repaired = await self._asked((completion.model,), (assistant(said), correction))
        except InferenceError as error:
            self._note(completion.model, f"{type(error).__name__}: {error}")
            return None
        value, problem = self._read(repaired)
        if value is None:
            self._note(completion.model, problem)
        return value

    async def _asked(self, models: tuple[ModelRef, ...], more: tuple[Message, ...]) -> Completion:
        question = self._question
        request = Request(
            owner=self._run_id,
            purpose="job",
            models=models,
            profile=question.profile,
            messages=(system(question.instruction), user(question.material), *more),
            tool_choice="none",
            reply_schema=question.shape.model_json_schema(),
        )
        return await complete(self._inference, request)

    def _read(self, completion: Completion) -> tuple[M | None, str]:
        if completion.finish == "length":
            return None, f"it was cut at {self._question.profile.max_tokens} tokens; write less"
        text = completion.message.text
        try:
            value = self._question.shape.model_validate_json(text[max(0, text.find("{")) : text.rfind("}") + 1])
        except ValidationError as error:
            return None, _problems(error)
        problem = self._question.problem(value)
        return (None, problem) if problem else (value, "")

    def _note(self, model: ModelRef, problem: str) -> None:
        log.info("job.reply_invalid", model=str(model), run_id=self._run_id)
        self.attempts += (Attempt(model=model, error=f"invalid answer: {problem}"),)


def _after(answered: ModelRef, models: tuple[ModelRef, ...]) -> tuple[ModelRef, ...]:
    """Return the models that come after the one that answered."""
    names = [ref.model if ref.provider is None else str(ref) for ref in models]
    wanted = (str(answered), answered.model)
    place = next((place for place, name in enumerate(names) if name in wanted), 0)
    return models[place + 1 :]


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)[:_MOST_PROBLEMS]
    return "; ".join(f"`{'.'.join(map(str, each['loc'])) or 'the answer'}`: {each['msg']}" for each in found)
