"""What the kernel holds around every judge: policy, push-backs, time, failures, and what a verdict cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bumble_core import assistant, complete, hookimpl, user
from bumble_core.ports import Inference, Judge
from bumble_core.types.budget import Spent
from bumble_core.types.inference import Completion, ModelRef, Profile, Request, Usage
from bumble_core.types.turn import TurnContext, Verdict
from tests.pieces import calling, filling

Build = Callable[..., Any]
REF = ModelRef(provider="scripted", model="model")


class Refusing:
    """Never satisfied."""

    def __init__(self) -> None:
        self.seen: list[TurnContext] = []

    async def judge(self, turn: TurnContext) -> Verdict:
        self.seen.append(turn)
        return Verdict(done=False, decided_by="test", reason="not enough", nudge="More!")


class Broken:
    async def judge(self, turn: TurnContext) -> Verdict:
        raise RuntimeError("out of order")


class Hanging:
    async def judge(self, turn: TurnContext) -> Verdict:
        await asyncio.Event().wait()
        raise AssertionError


class Asking:
    """Asks a model twice for every verdict."""

    @hookimpl
    def bumble_judge(self, inference: Inference) -> Judge:
        self._inference = inference
        return self

    async def judge(self, turn: TurnContext) -> Verdict:
        profile = Profile(name="reflex", max_tokens=8)
        asked = Request(owner=turn.input.id, purpose="judge", models=(REF,), profile=profile, messages=(user("?"),))
        for _ in range(2):
            await complete(self._inference, asked)
        return Verdict(done=True, decided_by="model", reason="asked")


def judged_by(runtime: Build, judge: Any, *replies: Any, **gate: Any) -> Any:
    return runtime(*replies, plugins={"own": filling(judge=judge)}, gate=gate)


async def test_a_judge_that_always_refuses_is_heard_twice(runtime: Build) -> None:
    judge = Refusing()
    built, script = judged_by(runtime, judge, assistant("a"), assistant("b"), assistant("c"))
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.delivered, len(script.requests), len(judge.seen)) == ("done", ("c",), 3, 2)
    assert turn.verdicts[-1].reason == "the judge's push-backs are used up"


async def test_push_backs_are_set_by_the_configuration(runtime: Build) -> None:
    built, script = judged_by(runtime, Refusing(), assistant("a"), max_pushbacks=0)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text, len(script.requests)) == ("done", "a", 1)


@pytest.mark.parametrize("section", [{"policy": "off"}, {"surfaces": {"none": "off"}}], ids=["all", "surface"])
async def test_a_gate_that_is_off_asks_no_judge(runtime: Build, section: Any) -> None:
    judge = Refusing()
    built, _ = judged_by(runtime, judge, assistant("a"), **section)
    async with built:
        turn = await built.answer("go")
    assert (turn.text, judge.seen) == ("a", [])
    assert (turn.verdicts[0].decided_by, turn.verdicts[0].reason) == ("kernel", "the gate is off")


async def test_a_gate_that_is_off_still_hears_out_what_was_announced(runtime: Build) -> None:
    says = calling("say", message="I look.")
    built, script = judged_by(runtime, Refusing(), says, assistant("Done."), policy="off")
    async with built:
        turn = await built.answer("go")
    assert (turn.delivered, len(script.requests)) == (("I look.", "Done."), 2)


async def test_a_call_of_start_has_its_own_policy(runtime: Build) -> None:
    judge = Refusing()
    built, _ = judged_by(runtime, judge, assistant("a"), surfaces={"none": "heuristics"})
    async with built:
        turn = await built.answer("go", gate="off")
    assert (turn.text, judge.seen) == ("a", [])


@pytest.mark.parametrize(("policy", "seen"), [(None, "heuristics"), ("full", "full")], ids=["surface", "call"])
async def test_the_judge_reads_the_policy_in_force(runtime: Build, policy: Any, seen: str) -> None:
    judge = Refusing()
    replies = [assistant("a")] * 3
    built, _ = judged_by(runtime, judge, *replies, policy="off", surfaces={"none": "heuristics"})
    async with built:
        await built.answer("go", gate=policy)
    assert {turn.input.gate for turn in judge.seen} == {seen}


@pytest.mark.parametrize(
    ("on_error", "requests"), [("accept", 1), ("reject", 3)], ids=["accepted-at-once", "refused-within-the-bounds"]
)
async def test_the_configuration_says_what_a_judge_that_fails_means(
    runtime: Build, on_error: str, requests: int
) -> None:
    built, script = judged_by(runtime, Broken(), *[assistant("a")] * 3, on_error=on_error)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.delivered, len(script.requests)) == ("done", ("a",), requests)
    first = turn.verdicts[0]
    assert (first.done, first.decided_by, first.problem) == (on_error == "accept", "kernel", "out of order")
    assert f"gate.on_error is `{on_error}`" in first.reason


async def test_a_judge_that_never_answers_is_not_waited_for(runtime: Build) -> None:
    built, _ = judged_by(runtime, Hanging(), assistant("a"), timeout_s=0.01)
    async with built:
        turn = await built.answer("go")
    assert (turn.status, turn.text, turn.verdicts[0].problem) == ("done", "a", "no verdict within 0.01 s")


async def test_a_verdict_says_what_it_cost_and_is_stored_with_the_turn(runtime: Build) -> None:
    usage = Usage(input_tokens=100, output_tokens=1)
    word = Completion(message=assistant("y"), finish="stop", model=REF, usage=usage)
    price = (100 * 2.0 + 10.0) / 1e6
    prices = {"scripted:model": {"input": 2.0, "output": 10.0}}
    built, _ = runtime(assistant("a"), word, word, plugins={"own": Asking()}, cognition={"prices": prices})
    async with built:
        await built.answer("go")
        (stored,) = await built.sessions.turns()
    (verdict,) = stored.verdicts
    assert (verdict.calls, verdict.decided_by, verdict.reason) == (2, "model", "asked")
    assert verdict.spent == Spent(usage=usage + usage, cost=2 * price)


async def test_a_verdict_without_a_request_cost_nothing(runtime: Build) -> None:
    built, _ = judged_by(runtime, Refusing(), *[assistant("a")] * 3)
    async with built:
        turn = await built.answer("go")
    assert [(verdict.calls, verdict.spent) for verdict in turn.verdicts] == [(0, None)] * 3
