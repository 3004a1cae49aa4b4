"""The conformance suite finds what is wrong with a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest
from bumble_openai import OpenAIConfig, OpenAIPlugin
from typing_extensions import override

from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import InferenceError, InvalidRequest
from bumble_core.ports import Provider
from bumble_core.testing import ProviderContract, StillClock
from bumble_core.types.inference import Completion, Delta, ModelInfo, Request, Usage
from bumble_core.types.messages import ToolCall
from tests.http.asking import NO_HOME

Item = Delta | Completion
Spoil = Callable[[Item], Iterator[Item]]


class Spoiling:
    """A good provider whose items are spoilt on their way."""

    def __init__(self, inner: Any, spoil: Spoil, *, secret: str = "", blurs_errors: bool = False) -> None:
        self._inner, self._spoil, self._secret, self._blurs = inner, spoil, secret, blurs_errors
        self.name = inner.name

    def __repr__(self) -> str:
        return f"Spoiling({self._secret!r})"

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Item, None]:
        try:
            async with aclosing(self._inner.stream(request, model)) as items:
                async for item in items:
                    for spoilt in self._spoil(item):
                        yield spoilt
        except InferenceError as error:
            raise (InvalidRequest(str(error)) if self._blurs else error) from error

    async def models(self) -> tuple[ModelInfo, ...]:
        models: tuple[ModelInfo, ...] = await self._inner.models()
        return models

    async def aclose(self) -> None:
        await self._inner.aclose()


class Contract(ProviderContract):
    def __init__(self, spoil: Spoil, **how: Any) -> None:
        self.spoil, self.how = spoil, how

    @override
    def make(self, url: str, key: str) -> Provider:
        config = OpenAIConfig(base_url=f"{url}/v1", headers={"Authorization": f"Bearer {key}"}, retry_attempts=1)
        (inner,) = OpenAIPlugin(config).bumble_providers(home=NO_HOME, files=SystemFiles(), clock=StillClock())
        return Spoiling(
            inner, self.spoil, secret=key if self.how.get("tells") else "", blurs_errors="blurs" in self.how
        )


def as_it_is(item: Item) -> Iterator[Item]:
    yield item


def changed(**fields: Any) -> Spoil:
    """Return what replaces fields of the completion; a function makes the new value from it."""

    def spoil(item: Item) -> Iterator[Item]:
        if isinstance(item, Completion):
            made = {key: value(item) if callable(value) else value for key, value in fields.items()}
            item = item.model_copy(update=made)
        yield item

    return spoil


def twice(item: Item) -> Iterator[Item]:
    yield from (item, item)


def without_words(item: Item) -> Iterator[Item]:
    if isinstance(item, Completion) or not item.text:
        yield item


def with_calls(**update: Any) -> Spoil:
    def made(done: Completion) -> Any:
        parts = [p.model_copy(update=update) if isinstance(p, ToolCall) else p for p in done.message.parts]
        return done.message.model_copy(update={"parts": tuple(parts)})

    return changed(message=made)


FAULTS: dict[str, tuple[str, Contract]] = {
    "two-completions": ("deltas_come_first_and_then_one_completion", Contract(twice)),
    "words-not-streamed": ("deltas_come_first_and_then_one_completion", Contract(without_words)),
    "words-in-no-delta-of-a-large-answer": ("a_large_answer_arrives_whole", Contract(without_words)),
    "nothing-counted": ("tokens_are_accounted", Contract(changed(usage=Usage()))),
    "estimate-not-marked": (
        "tokens_that_nobody_counts_are_estimated_and_marked",
        Contract(changed(usage=lambda done: done.usage.model_copy(update={"estimated": False}))),
    ),
    "cut-told-as-finished": ("a_reply_cut_at_any_byte_is_never_finished", Contract(changed(finish="stop"))),
    "half-calls-run": ("a_call_that_does_not_parse_has_a_problem", Contract(with_calls(problem=""))),
    "calls-cut-by-length-run": ("no_call_of_a_reply_cut_by_its_length_may_run", Contract(with_calls(problem=""))),
    "ids-not-unique": ("ids_of_calls_are_unique_and_never_empty", Contract(with_calls(id="x"))),
    "ids-empty": ("ids_of_calls_are_unique_and_never_empty", Contract(with_calls(id=""))),
    "length-not-told": ("a_reply_at_its_limit_says_so", Contract(changed(finish="stop"))),
    "errors-blurred": ("each_error_says_what_the_caller_can_do", Contract(as_it_is, blurs=True)),
    "unreachable-blurred": ("nobody_there_is_unreachable", Contract(as_it_is, blurs=True)),
    "key-shown": ("no_secret_is_in_an_error_or_in_the_provider", Contract(as_it_is, tells=True)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str) -> None:
    name, contract = FAULTS[fault]
    with pytest.raises(AssertionError):
        getattr(contract, f"test_{name}")()
