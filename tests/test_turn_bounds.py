"""A property of turns made at random: their bounds hold, and what a tail says stands in no history."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from pathlib import Path
from typing import Any

import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bumble_core import Settings, ToolCall, Turn, assemble, assistant
from bumble_core.testing import ScriptedProvider, check_prefix
from bumble_core.types.inference import Completion, ModelRef, Request, Usage
from tests.depth import examples
from tests.pieces import Tools, add
from tests.shipped import construct_shipped
from tests.test_speaking import Chat, fails

REF = ModelRef(provider="scripted", model="model")
CALLS = {
    "adds": ("add", {"a": 1, "b": 1}),
    "misfits": ("add", {"a": "x"}),
    "fails": ("fails", {}),
    "unknown": ("nothing", {}),
    "says": ("say", {"message": "On it."}),
    "says-lost": ("say", {"message": "lost"}),
    "thinks": ("think", {"thought": "hm"}),
    "ends": ("end_turn", {}),
}
NUDGES = ("[The results of", "[Your reply was", "[Your message was", "[Your last", "[This is your last", "seen nothing")
STEPS = st.tuples(
    st.sampled_from(["", "", "Words.", "Some words that are"]),
    st.lists(st.sampled_from(sorted(CALLS)), max_size=3),
    st.sampled_from(["stop", "stop", "length"]),
    st.integers(1, 900),
)


def completion(step: Any) -> Completion:
    text, names, finish, tokens = step
    calls = [ToolCall(name=CALLS[name][0], arguments=dict(CALLS[name][1])) for name in names]
    usage = Usage(input_tokens=tokens, output_tokens=tokens // 4, estimated=True)
    return Completion(message=assistant(text, *calls), finish=finish, model=REF, usage=usage)


def play(steps: list[Any], rounds: int, budget: int | None) -> tuple[Turn, list[Request]]:
    """Run one turn whose model takes the steps, and then says that it is done for ever."""
    script = ScriptedProvider([*map(completion, steps), *[completion(("Done.", [], "stop", 50))] * 30])
    shipped = construct_shipped("router", "judge", "compactor", "talk")
    plugins = {**shipped, "scripted": script, "own": Tools(add, fails)}

    async def turn() -> Turn:
        async with assemble(found, plugins=plugins, discovers=False, run_jobs=False) as runtime:
            return await runtime.answer("go", surface=Chat("lost"))

    with tempfile.TemporaryDirectory() as folder, structlog.testing.capture_logs():
        cognition = {"tool_continuation_rounds": rounds, "turn_max_tokens": budget}
        agent = {"models": ["scripted:model"]}
        found = Settings.model_validate({"agent": agent, "home": Path(folder) / "home", "cognition": cognition})
        return asyncio.run(turn()), script.requests


@settings(max_examples=examples(60, 2_000), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=st.lists(STEPS, max_size=25),
    rounds=st.integers(0, 40),
    budget=st.none() | st.integers(500, 20_000),
)
def test_a_turn_keeps_its_bounds_and_its_nudges_to_its_tails(steps: list[Any], rounds: int, budget: int | None) -> None:
    turn, requests = play(steps, rounds, budget)
    assert len(requests) <= max(6, min(25, 6 + rounds))
    assert turn.status in ("done", "capped")
    assert turn.delivered
    assert len(set(turn.delivered)) == len(turn.delivered)
    calls = [call.id for message in turn.messages for call in message.tool_calls]
    assert calls == [result.call_id for message in turn.messages for result in message.tool_results]
    for request in requests:
        words = "".join(message.text for message in request.messages)
        assert words.endswith(request.tail)
        assert not any(nudge in words.removesuffix(request.tail) for nudge in NUDGES)
    for before, after in itertools.pairwise(requests):
        check_prefix(before, after)
    assert not any(nudge in message.text for message in turn.messages for nudge in NUDGES)
