"""Which model is taken when none is configured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from bumble_core.cli.first_model import first_model
from bumble_core.errors import Unreachable
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request


@dataclass
class Listing:
    """A provider of which only the list of models matters."""

    name: str
    offered: tuple[str, ...] = ()
    default: str = ""
    error: Exception | None = None
    wait_s: float = 0.0
    ready: bool = True

    async def models(self) -> tuple[ModelInfo, ...]:
        await asyncio.sleep(self.wait_s)
        if self.error:
            raise self.error
        refs = (ModelRef(provider=self.name, model=model) for model in self.offered)
        return tuple(ModelInfo(ref=ref, is_default=ref.model == self.default, is_ready=self.ready) for ref in refs)

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        raise AssertionError("nothing is asked")
        yield Delta()


DOWN = Unreachable("nobody is there")


@pytest.mark.parametrize(
    ("providers", "taken"),
    [
        ((Listing("local", ("a",)), Listing("ollama", ("b",)), Listing("openai", ("c",))), "openai:c"),
        ((Listing("local", ("a",)), Listing("ollama", ("b",)), Listing("openai", error=DOWN)), "ollama:b"),
        ((Listing("owl", ("a",)), Listing("local", ("b",))), "local:b"),
        ((Listing("owl", ("a", "b", "c"), default="b"),), "owl:b"),
        ((Listing("openai"), Listing("owl", ("a", "b"))), "owl:a"),
        ((Listing("openai", error=KeyError("a bug")), Listing("owl", ("a",))), "owl:a"),
        ((Listing("local", ("a",), ready=False), Listing("owl", ("b",))), "owl:b"),
        ((Listing("openai", ("a",), wait_s=30), Listing("owl", ("b",))), "owl:b"),
        ((Listing("openai", error=DOWN), Listing("owl")), "None"),
        ((), "None"),
    ],
    ids=[
        "all",
        "one-is-down",
        "strangers-last",
        "default",
        "no-models",
        "a-bug",
        "not-fetched",
        "too-slow",
        "nothing",
        "no-provider",
    ],
)
async def test_the_first_provider_that_answers_is_taken(providers: tuple[Listing, ...], taken: str) -> None:
    found = await first_model({provider.name: provider for provider in providers}, wait_s=0.1)
    assert str(found) == taken


async def test_a_slow_provider_is_not_waited_for_when_an_earlier_one_has_a_model() -> None:
    providers = (Listing("openai", ("a",)), Listing("owl", ("b",), wait_s=30))
    async with asyncio.timeout(1):
        found = await first_model({provider.name: provider for provider in providers})
    assert str(found) == "openai:a"
