"""The tools about models, called by a model in real turns."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bumble_core import ToolCall, assistant
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import ModelRef
from tests.shipped import construct_shipped

Build = Callable[..., Any]
JOB = "verification_review"
ALLOWED = {"allow": ["*", "switch_model", "switch_cognition_model"]}


@pytest.fixture
def calling(runtime: Build) -> Build:
    """Have the model call one tool; return the runtime and what the tool gave."""

    async def call(name: str, tools: Any = ALLOWED, **arguments: str) -> tuple[Any, str]:
        other = ScriptedProvider(name="cloud")
        plugins = {**construct_shipped("models"), "cloud": other}
        step = assistant("", ToolCall(name=name, arguments=dict(arguments)))
        built, _ = runtime(step, assistant("done"), plugins=plugins, tools=tools)
        async with built:
            turn = await built.answer("hi", models=(ModelRef.parse("scripted:model"),))
        return built, turn.messages[2].tool_results[0].content

    return call


async def test_providers_and_models_are_listed(calling: Build) -> None:
    _, providers = await calling("list_providers")
    assert json.loads(providers) == [{"provider": "cloud", "models": 1}, {"provider": "scripted", "models": 1}]
    _, found = await calling("list_models", provider="cloud")
    assert json.loads(found)["models"] == [{"model": "cloud:model", "context_window": None}]
    assert json.loads(found)["in_use"] == ["scripted:model"]
    _, none = await calling("list_models", search="gpt")
    assert json.loads(none)["total"] == 0


async def test_a_switch_is_kept_with_the_full_name(calling: Build) -> None:
    built, told = await calling("switch_model", provider="cloud", model="model")
    assert told == "`cloud:model` answers from the next turn on"
    assert built.choices.chosen("interactive") == (ModelRef.parse("cloud:model"),)
    built, told = await calling("switch_cognition_model", job_type=JOB, provider="cloud", model="model")
    assert told == f"`{JOB}` uses `cloud:model` from its next run on"
    assert json.loads((built.home / "models.json").read_text())[JOB] == ["cloud:model"]


async def test_a_job_goes_back_to_the_configuration(calling: Build) -> None:
    await calling("switch_cognition_model", job_type=JOB, provider="cloud", model="model")
    built, told = await calling("switch_cognition_model", job_type=JOB)
    assert told == f"`{JOB}` uses the models of the configuration from its next run on"
    assert built.choices.chosen(JOB) == ()


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("switch_model", {"provider": "clud", "model": "model"}, "there is no provider `clud`; did you mean `cloud`?"),
        ("switch_model", {"provider": "cloud", "model": "modell"}, "has no model `modell`; did you mean `model`?"),
        ("switch_model", {"provider": "cloud", "model": " "}, "`model` is empty"),
        ("switch_cognition_model", {"job_type": "review"}, "there is no job `review`"),
        ("list_models", {"provider": "x"}, "there is no provider `x`; there are: cloud, scripted"),
    ],
    ids=["provider", "model", "empty", "job", "list"],
)
async def test_what_is_not_there_changes_nothing_and_is_told(
    calling: Build, name: str, arguments: dict[str, str], told: str
) -> None:
    built, said = await calling(name, **arguments)
    assert told in said
    assert (built.choices.chosen("interactive"), built.choices.chosen(JOB)) == ((), ())


async def test_nobody_switches_without_a_person(calling: Build) -> None:
    built, _ = await calling("switch_model", tools={}, provider="cloud", model="model")
    assert built.choices.chosen("interactive") == ()
