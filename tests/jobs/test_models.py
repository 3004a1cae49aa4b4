"""Which models a job asks: the first level at which somebody named any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bumble_core import Settings
from bumble_core.builtin.choices import FileModelChoices
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.jobs.models import JobModels
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import ModelRef
from bumble_core.types.jobs import AtStartup, JobSpec
from tests.shipped import construct_shipped

CLOUD = ModelRef.parse("cloud:deep")
SPEC = JobSpec(id="tidy", summary="Tidy up", triggers=(AtStartup(),), models=(CLOUD,))


class Cloud(ScriptedProvider):
    """A provider that wants a key."""

    def __init__(self, *, is_equipped: bool) -> None:
        super().__init__(name="cloud")
        self.is_equipped = is_equipped


def models_of(home: Path, *, cloud: bool | None = None, **sections: Any) -> JobModels:
    providers = {} if cloud is None else {"cloud": Cloud(is_equipped=cloud)}
    return JobModels(FileModelChoices(home, SystemFiles(), SystemClock()), Settings.model_validate(sections), providers)


def names(models: JobModels, failures: int = 0) -> list[str]:
    return [str(model) for model in models.after(SPEC, failures)]


AGENT = {"models": ["a:talk"]}
COGNITION = {"models": ["a:talk"], "cognition": {"models": ["a:think", "b:think"]}}


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ({"agent": AGENT, "cloud": True}, ["cloud:deep", "a:talk"]),
        ({"agent": AGENT, "cloud": False}, ["a:talk"]),
        ({"agent": AGENT}, ["a:talk"]),
        ({"agent": COGNITION, "cloud": True}, ["a:think", "b:think"]),
        ({"agent": COGNITION, "cloud": True, "jobs": {"tidy": {"models": ["c:own"]}}}, ["c:own"]),
    ],
    ids=["preferred-then-conversation", "no-key", "no-provider", "cognition", "own-section"],
)
def test_models_come_from_the_first_level_that_names_any(
    tmp_path: Path, given: dict[str, Any], order: list[str]
) -> None:
    assert names(models_of(tmp_path, **given)) == order


async def test_a_choice_of_the_users_comes_before_everything_and_survives_a_restart(tmp_path: Path) -> None:
    given: dict[str, Any] = {"agent": COGNITION, "jobs": {"tidy": {"models": ["c:own"]}}}
    await models_of(tmp_path, **given).choices.choose("tidy", (ModelRef.parse("d:chosen:8b"),))
    assert names(models_of(tmp_path, **given)) == ["d:chosen:8b"]
    await models_of(tmp_path, **given).choices.choose("tidy", ())
    assert names(models_of(tmp_path, **given)) == ["c:own"]


async def test_a_choice_for_the_conversation_counts_where_the_job_has_nothing_else(tmp_path: Path) -> None:
    models = models_of(tmp_path, agent=AGENT)
    await models.choices.choose("interactive", (ModelRef.parse("d:chosen"),))
    assert names(models) == ["d:chosen"]


def test_a_failing_job_asks_fewer_models_each_time_and_others_in_turn(tmp_path: Path) -> None:
    models = models_of(tmp_path, agent={"cognition": {"models": ["a:1", "b:2", "c:3"]}})
    assert [names(models, failures) for failures in range(5)] == [
        ["a:1", "b:2", "c:3"],
        ["b:2", "c:3"],
        ["c:3"],
        ["a:1"],
        ["b:2"],
    ]


@pytest.mark.parametrize(("key", "is_equipped"), [("", False), (" ", False), ("secret", True)])
def test_ollamas_cloud_is_set_up_when_there_is_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, is_equipped: bool
) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", key)
    plugin: Any = construct_shipped("ollama")["ollama"]
    found = {each.name: each.is_equipped for each in plugin.bumble_providers(tmp_path, SystemFiles(), None)}
    assert found == {"ollama": True, "ollama-cloud": is_equipped}
