"""Tokens and money of a turn: counted by purpose, kept to, and spent with a word for the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bumble_core import Settings, assistant, complete, hookimpl, user
from bumble_core.account import Account
from bumble_core.ports import Inference, Judge, Router
from bumble_core.types.budget import Budget, Price, Spent
from bumble_core.types.inference import Completion, ModelRef, Profile, Request, Usage
from bumble_core.types.messages import Message
from bumble_core.types.turn import Route, TurnContext, TurnInput, Verdict
from tests.pieces import Tools, add, calling, filling

Build = Callable[..., Any]
REF = ModelRef(provider="scripted", model="model")
TOKENS = 100  # of every request, by the counter below
REPLY = 512  # the longest of either profile
PRICES = {"scripted:model": {"input": 2.0, "output": 10.0, "cached": 0.5}}


class HundredTokens:
    """Counts every request alike."""

    def count(self, messages: Any, tools: Any, model: Any) -> int:
        return TOKENS

    def learn(self, estimated: int, actual: int, model: Any) -> None: ...


class Asking:
    """A router and a judge that ask a model each."""

    @hookimpl
    def bumble_router(self, inference: Inference) -> Router:
        self.inference = inference
        return self

    @hookimpl
    def bumble_judge(self) -> Judge:
        return self

    async def route(self, input: TurnInput) -> Route:
        await self._ask("route", input)
        profile = Profile(name="reflex", max_tokens=REPLY)
        return Route(profile=profile, models=input.models, decided_by="classifier", reason="asked")

    async def judge(self, turn: TurnContext) -> Verdict:
        await self._ask("judge", turn.input)
        return Verdict(done=True, decided_by="model", reason="asked")

    async def _ask(self, purpose: str, input: TurnInput) -> None:
        profile = Profile(name=purpose, max_tokens=8)
        request = Request(owner=input.id, purpose=purpose, models=(REF,), profile=profile, messages=(user("?"),))
        await complete(self.inference, request)


def took(message: Message, input: int, output: int, cached: int = 0) -> Completion:
    usage = Usage(input_tokens=input, output_tokens=output, cached_tokens=cached)
    return Completion(message=message, finish="tool_calls" if message.tool_calls else "stop", model=REF, usage=usage)


def built(runtime: Build, *replies: Any, others: Any = (), **cognition: Any) -> Any:
    plugins = {"own": Tools(add), "counter": filling(token_counter=HundredTokens()), **dict(others)}
    return runtime(*replies, plugins=plugins, cognition={"deliberate_max_tokens": REPLY, **cognition})


async def test_tokens_and_money_are_kept_by_purpose(runtime: Build) -> None:
    replies = [took(assistant("b"), 10, 1), took(assistant("hello"), 1000, 20, 600), took(assistant("done"), 50, 1)]
    made, _ = built(runtime, *replies, others={"asking": Asking()}, prices=PRICES)
    async with made:
        turn = await made.answer("hi")
        (stored,) = await made.sessions.turns()
    assert {name: each.usage.input_tokens for name, each in stored.spent.items()} == {
        "route": 10, "turn": 1000, "judge": 50
    }  # fmt: skip
    assert turn.spent["turn"].cost == pytest.approx((400 * 2 + 600 * 0.5 + 20 * 10) / 1e6)
    assert turn.cost == pytest.approx(sum(each.cost or 0 for each in turn.spent.values()))
    assert turn.usage.output_tokens == 22


async def test_without_a_price_the_cost_is_not_known(runtime: Build) -> None:
    made, _ = built(runtime, took(assistant("hello"), 10, 1))
    async with made:
        turn = await made.answer("hi")
    assert (turn.cost, turn.spent["turn"]) == (None, Spent(usage=Usage(input_tokens=10, output_tokens=1)))


@pytest.mark.parametrize(
    ("limits", "used"),
    [
        ({"turn_max_tokens": 2_000}, (500, 500)),
        ({"turn_max_cost": 0.02, "prices": PRICES}, (500, 1_000)),
    ],
    ids=["tokens", "money"],
)
async def test_the_step_after_which_nothing_more_can_be_paid_is_the_last(
    runtime: Build, limits: Any, used: Any
) -> None:
    made, script = built(runtime, took(calling("add", a=1, b=1), *used), took(assistant("It is 2."), 9, 9), **limits)
    async with made:
        turn = await made.answer("1 + 1")
    assert (turn.status, turn.text, len(script.requests)) == ("done", "It is 2.", 2)
    assert script.requests[1].tools == ()
    assert "last step" in script.requests[1].tail


async def test_the_last_reply_is_as_long_as_can_be_paid(runtime: Build) -> None:
    replies = [took(calling("add", a=1, b=1), 1_000, 600), took(assistant("It is 2."), 9, 9)]
    made, script = built(runtime, *replies, turn_max_tokens=2_000)
    async with made:
        await made.answer("1 + 1")
    assert [request.profile.max_tokens for request in script.requests] == [REPLY, 2_000 - 1_600 - TOKENS]


async def test_a_turn_that_cannot_pay_a_reply_ends_with_the_kernels_words(runtime: Build) -> None:
    made, script = built(runtime, took(calling("add", a=1, b=1), 1_900, 50), turn_max_tokens=2_000)
    async with made:
        turn = await made.answer("1 + 1")
    assert (turn.status, len(script.requests)) == ("capped", 1)
    assert "1,950 of 2,000 tokens spent" in turn.text
    assert turn.messages[-1].source == "kernel"


async def test_a_last_step_that_settles_nothing_ends_for_the_budget(runtime: Build) -> None:
    replies = [took(calling("add", a=1, b=1), 1_000, 300), took(calling("add", a=1, b=1), 100, 50)]
    made, script = built(runtime, *replies, turn_max_tokens=2_000)
    async with made:
        turn = await made.answer("1 + 1")
    assert (turn.status, len(script.requests)) == ("capped", 2)
    assert "1,450 of 2,000 tokens spent" in turn.text


async def test_router_and_judge_draw_on_the_same_budget(runtime: Build) -> None:
    replies = [took(assistant("b"), 900, 1), took(assistant("hello"), 100, 500)]
    made, script = built(runtime, *replies, others={"asking": Asking()}, turn_max_tokens=1_513)
    async with made:
        turn = await made.answer("hi")
    assert [request.purpose for request in script.requests] == ["route", "turn"]
    assert (turn.status, turn.text) == ("done", "hello")
    assert "`judge`: what is left of the turn's budget" in turn.verdicts[0].reason


def test_a_limit_of_money_needs_prices() -> None:
    with pytest.raises(ValidationError, match="`turn_max_cost` needs `prices`"):
        Settings.model_validate({"cognition": {"turn_max_cost": 1}})


MODELS = (REF, ModelRef(model="other"))
AMOUNT = st.floats(0, 100, allow_subnormal=False)
PRICE = st.builds(Price, input=AMOUNT, output=AMOUNT, cached=st.none() | AMOUNT)


@given(
    max_tokens=st.none() | st.integers(1, 10_000),
    max_cost=st.none() | st.floats(0.001, 1),
    prices=st.dictionaries(st.sampled_from(["scripted:model", "x:other", "y:other"]), PRICE),
    requests=st.lists(st.tuples(st.integers(1, 2_000), st.integers(1, 2_000), st.sampled_from(MODELS)), max_size=20),
)
def test_replies_of_the_length_that_can_be_paid_never_overdraw(
    max_tokens: int | None, max_cost: float | None, prices: dict[str, Price], requests: list[Any]
) -> None:
    budget = Budget(deadline_s=1, max_auxiliary_calls=0, max_tokens=max_tokens, max_cost=max_cost)
    account = Account(budget, prices)
    for tokens, reply, model in requests:
        longest = account.longest_reply(tokens, MODELS)
        if longest < 1:
            continue
        asked = Request(
            owner="t", purpose="turn", models=MODELS, profile=Profile(name="p", max_tokens=1), messages=(user("?"),)
        )
        usage = Usage(input_tokens=tokens, output_tokens=int(min(reply, longest)))
        account.took(asked, Completion(message=assistant("x"), finish="stop", model=model, usage=usage))
    assert account.usage.input_tokens + account.usage.output_tokens <= (max_tokens or 10**9)
    assert account.cost <= (max_cost or 10**9) * (1 + 1e-9)
