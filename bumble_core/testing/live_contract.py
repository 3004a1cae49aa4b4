"""What every provider must do, tried against a server or an engine that really answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from ..ports import Provider
from ..types.inference import Completion, Delta, ModelRef, Profile, Request
from ..types.messages import Message, user
from .threads import loop_thread

T = TypeVar("T")

_PATIENCE_S = 120.0  # a model that runs on a busy machine
_STRANGE = "Grüße 🐝\u2028漢字 \u0301 \x00 \ufeff"


@runtime_checkable
class Closing(Protocol):
    """A provider that holds connections or an engine."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a request."""

    text: str
    thinking: str
    completion: Completion

    @property
    def message(self) -> Message:
        return self.completion.message


class LiveProviderContract:
    """Subclass it as `class TestMine(LiveProviderContract)` and define `make`; pytest does the rest.

    `url` and `key` are what `make` is given, `model` is what is asked for. Override `provider` where making one
    takes more than that.
    """

    url = ""
    key = ""
    model = "m"

    def make(self, url: str, key: str) -> Provider:
        """Return the provider, which sends `key` where its server wants one."""
        raise NotImplementedError(f"{type(self).__name__} has to say how its provider is made")

    @contextmanager
    def provider(self) -> Iterator[Provider]:
        """Give a provider that somebody answers."""
        yield self.make(self.url, self.key)

    def test_deltas_come_first_and_then_one_completion(self) -> None:
        with self.provider() as provider:
            heard = run(provider, lambda: hear(provider, self.asking(user("Say hello.")), self.model))
        assert heard.completion.model == ModelRef(provider=provider.name, model=self.model), heard.completion.model
        assert heard.text == heard.message.text, (heard.text, heard.message.text)
        assert heard.thinking == heard.message.thinking, (heard.thinking, heard.message.thinking)
        assert heard.message.role == "assistant", heard.message

    def test_tokens_are_accounted(self) -> None:
        with self.provider() as provider:
            usage = run(provider, lambda: hear(provider, self.asking(), self.model)).completion.usage
        assert usage.input_tokens > 0, usage
        assert usage.output_tokens > 0, usage
        assert 0 <= usage.cached_tokens <= usage.input_tokens, usage

    def test_a_reply_at_its_limit_says_so(self) -> None:
        with self.provider() as provider:
            asked = self.asking(user("Count from one to one hundred in words."), max_tokens=3)
            completion = run(provider, lambda: hear(provider, asked, self.model)).completion
        assert completion.finish == "length", completion

    def test_any_text_may_be_asked(self) -> None:
        with self.provider() as provider:
            heard = run(provider, lambda: hear(provider, self.asking(user(_STRANGE)), self.model))
        assert heard.completion.finish in ("stop", "length"), heard.completion

    def test_the_model_is_listed(self) -> None:
        with self.provider() as provider:
            models = run(provider, provider.models)
        assert {info.ref.provider for info in models} == {provider.name}, models
        assert self.model in {info.ref.model for info in models}, models

    def test_a_stream_may_be_left_early(self) -> None:
        with self.provider() as provider:
            heard = run(provider, lambda: self._left_and_asked_again(provider))
        assert heard.completion.finish in ("stop", "length"), heard.completion

    def test_a_cancelled_request_leaves_the_provider_usable(self) -> None:
        with self.provider() as provider:
            heard = run(provider, lambda: self._cancelled_and_asked_again(provider))
        assert heard.completion.finish in ("stop", "length"), heard.completion

    def test_closing_twice_is_harmless(self) -> None:
        async def closed_twice(provider: Provider) -> None:
            await hear(provider, self.asking(), self.model)
            await close(provider)
            await close(provider)

        with self.provider() as provider:
            asyncio.run(closed_twice(provider))

    def test_two_event_loops_may_ask(self) -> None:
        with self.provider() as provider, loop_thread() as other:
            texts = run(provider, lambda: self._asked_by_both(provider, other.run))
        assert len(texts) == 3, texts

    def asking(self, *messages: Message, max_tokens: int = 24, **fields: object) -> Request:
        """Return a request of the reflex profile; without messages it says hello."""
        profile = Profile(name="reflex", max_tokens=max_tokens, temperature=0.0)
        request = Request(
            owner="contract",
            purpose="turn",
            models=(ModelRef(model=self.model),),
            profile=profile,
            messages=messages or (user("Hello."),),
            context_window=2_048,
        )
        return request.model_copy(update=fields)

    async def _left_and_asked_again(self, provider: Provider) -> Heard:
        async with aclosing(provider.stream(self.asking(), self.model)) as items:
            await anext(items)
        return await hear(provider, self.asking(), self.model)

    async def _cancelled_and_asked_again(self, provider: Provider) -> Heard:
        task = asyncio.ensure_future(hear(provider, self.asking(max_tokens=500), self.model))
        await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.wait([task])
        return await hear(provider, self.asking(), self.model)

    async def _asked_by_both(self, provider: Provider, run_there: Callable[..., Heard]) -> list[Heard]:
        here = await hear(provider, self.asking(), self.model)
        there = await asyncio.to_thread(lambda: run_there(hear(provider, self.asking(), self.model)))
        return [here, there, await hear(provider, self.asking(), self.model)]


async def hear(provider: Provider, request: Request, model: str) -> Heard:
    """Return what a provider answers, having seen that it is deltas and then exactly one completion."""
    text, thinking, done = "", "", None
    async with asyncio.timeout(_PATIENCE_S), aclosing(provider.stream(request, model)) as items:
        async for item in items:
            assert done is None, f"{item!r} came after the completion"
            if isinstance(item, Completion):
                done = item
                continue
            assert isinstance(item, Delta), f"{item!r} is neither a delta nor a completion"
            text, thinking = text + item.text, thinking + item.thinking
    assert done is not None, "the stream ended without a completion"
    return Heard(text, thinking, done)


async def close(provider: Provider) -> None:
    """Close a provider that can be closed."""
    if isinstance(provider, Closing):
        await provider.aclose()


def run(provider: Provider, action: Callable[[], Awaitable[T]]) -> T:
    """Return what `action` gives in an event loop of its own; the provider is closed there."""

    async def acted() -> T:
        try:
            return await action()
        finally:
            await close(provider)

    return asyncio.run(acted())
