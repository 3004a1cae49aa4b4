"""No model is asked that cannot hold the request; what is known of windows decides, in its order of trust."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bumble_core import Turn, assistant
from bumble_core.errors import ContextOverflow
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import ModelInfo, ModelRef

Build = Callable[..., Any]
SMALL, LARGE = "small:m", "large:m"
LONG = "word " * 4_000  # some 5,000 tokens


class Listing(ScriptedProvider):
    """Lists its model with a window."""

    def __init__(self, *replies: Any, name: str, window: int | None) -> None:
        super().__init__(replies, name=name)
        self.window, self.lists = window, 0

    async def models(self) -> tuple[ModelInfo, ...]:
        self.lists += 1
        return (ModelInfo(ref=ModelRef(provider=self.name, model="m"), context_window=self.window),)


async def answered(runtime: Build, text: str, small: Listing, large: Listing, **cognition: Any) -> Turn:
    agent = {"models": [SMALL, LARGE]}
    built, _ = runtime(plugins={"small": small, "large": large}, agent=agent, cognition=cognition)
    async with built:
        turn = await built.answer(text)
    assert isinstance(turn, Turn)
    return turn


def pair(small_window: int | None, large_window: int | None) -> tuple[Listing, Listing]:
    said = assistant("There are four thousand words in it.")
    return Listing(said, name="small", window=small_window), Listing(said, name="large", window=large_window)


async def test_a_model_whose_listed_window_is_too_small_is_left_out_of_the_route(runtime: Build) -> None:
    small, large = pair(4_096, 32_768)
    turn = await answered(runtime, LONG, small, large)
    assert turn.route is not None
    assert ([str(ref) for ref in turn.route.models], [str(ref) for ref in turn.route.too_small]) == ([LARGE], [SMALL])
    assert (small.requests, len(large.requests)) == ([], 1)


async def test_a_short_request_goes_to_the_first_model_and_nobody_is_asked_for_a_list(runtime: Build) -> None:
    small, large = pair(4_096, 32_768)
    turn = await answered(runtime, "hi", small, large)
    assert (len(small.requests), large.requests, small.lists) == (1, [], 0)
    assert turn.route is not None
    assert turn.route.too_small == ()


async def test_a_configured_window_is_believed_before_a_listed_one(runtime: Build) -> None:
    small, large = pair(4_096, 32_768)
    await answered(runtime, LONG, small, large, model_windows={SMALL: 16_000})
    assert (len(small.requests), large.requests) == (1, [])


async def test_a_window_that_nobody_knows_is_tried(runtime: Build) -> None:
    small, large = pair(None, 32_768)
    await answered(runtime, LONG, small, large)
    assert (len(small.requests), large.requests) == (1, [])


async def test_an_overflow_is_remembered_for_the_next_turn(runtime: Build) -> None:
    small, large = pair(None, 32_768)
    small = Listing(
        ContextOverflow("too long", 4_096), assistant("There are many words in it."), name="small", window=None
    )
    built, _ = runtime(plugins={"small": small, "large": large}, agent={"models": [SMALL, LARGE]})
    async with built:
        await built.answer(LONG)
        asked = len(small.requests)
        turn = await built.answer(LONG)
    assert ([str(ref) for ref in turn.route.models], len(small.requests) - asked) == ([LARGE], 0)


async def test_where_no_model_can_hold_it_the_view_is_compacted_for_the_first(runtime: Build) -> None:
    small, large = pair(4_096, 4_000)
    history = {"history_compression": {"enabled": False}}
    small = Listing(*(assistant("word " * 900) for _ in range(8)), name="small", window=4_096)
    built, _ = runtime(plugins={"small": small, "large": large}, agent={"models": [SMALL, LARGE]}, cognition=history)
    async with built:
        turns = [await built.answer(f"question {number}") for number in range(8)]
    assert ([turn.status for turn in turns], large.requests) == (["done"] * 8, [])
    assert len(small.requests[-1].messages) < 16
