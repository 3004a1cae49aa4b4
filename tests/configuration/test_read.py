"""Wrong values are named so that a person can mend them; any text gives settings or a `ConfigError`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble_core.configuration import read_settings
from bumble_core.errors import ConfigError
from bumble_core.types.inference import ModelRef
from bumble_core.types.settings import Settings
from tests.machine import Machine


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "cognition:\n\n  max_context_tokens: 32k",
            "3: cognition.max_context_tokens: expected a whole number greater than 0, got '32k'",
        ),
        ("cognition: {temperature: true}", "expected a number at least 0 and at most 2, got true"),
        ("cognition: {max_context_tokens: 8.0}", "expected a whole number greater than 0, got 8.0"),
        ("cognition: {turn_deadline_s: .inf}", "expected a number greater than 0, got inf"),
        ("cognition: {reflex_max_tokens: 99999999999999999999}", "a number that large means nothing here"),
        ("cognition: 3", "1: cognition: expected a mapping, got 3"),
        ("cognition: {tool_choice: always}", "cognition.tool_choice: expected `auto` or `required`, got 'always'"),
        (
            "cognition: {model_windows: {'a:b': 0}}",
            "cognition.model_windows.a:b: expected a whole number greater than 0, got 0",
        ),
        ("agent: {always_deliberate: yes}", "expected `true` or `false`, got 'yes'"),
        ("agent: {name: ../else}", "agent.name: a name is printable text without slashes"),
        ("agent: {name: 7}", "agent.name: expected text that is not empty, got 7"),
        ("agent: {models: qwen3}", "expected a list of models, each a name or `provider:model`, got 'qwen3'"),
        ("agent:\n  models:\n  - a\n  - ollama: b", "4: agent.models[1]: expected a model's name or"),
        ("agent: {models: ['ollama:']}", "agent.models[0]: expected a model's name or `provider:model`, got 'ollama:'"),
        ("jobs: {digest: {timeout: true}}", "digest.timeout: a duration is seconds, or text such as `PT5M`, got true"),
        ("jobs: {digest: {turns: 0}}", "jobs.digest.turns: expected a whole number greater than 0, got 0"),
        ("plugins: {files: 3}", "plugins.files: expected a mapping, got 3"),
        ("plugins: {sections: {files: {}}}", "plugins.sections: unknown key"),
        ("tools: {deny: ~}", "tools.deny: expected a list of texts, got nothing"),
        ("max_context_tokens: 3", "max_context_tokens: unknown key; it belongs at `cognition.max_context_tokens`"),
        ("stages: {rooter: x}", "stages.rooter: unknown key; did you mean `router`?"),
        ("jobs: {digest: {shedule: x}}", "jobs.digest.shedule: unknown key; did you mean `schedule`?"),
        ("gate: {xyz: 1}", "gate.xyz: unknown key; known here: policy, surfaces, max_pushbacks, on_error"),
        ("gate: {max_pushbacks: https://u:hunter2@x}", "got 'https://u:***@x'"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_what_was_expected(text: str, said: str, tmp_path: Path) -> None:
    tmp_path.joinpath("b.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_settings(tmp_path / "b.yaml")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_problems_of_a_file_come_at_once_in_the_order_of_its_lines(machine: Machine) -> None:
    file = machine.write(machine.work, "agent: {name: 3}\nhom: x\ngate: {max_pushbacks: -1}\nhome: !x y\nagent: {}\n")
    with pytest.raises(ConfigError) as caught:
        read_settings(file)
    places = [line.removeprefix(str(file)).split(": ")[:2] for line in str(caught.value).splitlines()]
    assert places == [
        [":1", "agent.name"], [":2", "hom"], [":3", "gate.max_pushbacks"], [":4", "home"], [":5", "agent"],
    ]  # fmt: skip


def test_what_is_right_is_read(machine: Machine) -> None:
    text = "home: ../nest\nagent: {models: [ollama:qwen3:8b]}\ntools:\njobs: {digest: {timeout: PT5M}}\n"
    settings = read_settings(
        machine.write(machine.work, f"{text}plugins: {{disabled: [shell], files: {{a: [1]}}, x: }}\n")
    )
    assert settings.home == machine.work / "../nest"
    assert settings.agent.models == (ModelRef(provider="ollama", model="qwen3:8b"),)
    assert settings.jobs["digest"].timeout == timedelta(minutes=5)
    assert settings.plugins.disabled == ("shell",)
    assert settings.plugins.sections == {"files": {"a": [1]}, "x": {}}


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"bumble\.yaml: cannot be read: No such file or directory"):
        read_settings(tmp_path / "bumble.yaml")


def test_settings_survive_their_own_serialisation() -> None:
    settings = Settings.model_validate({"agent": {"models": ["a:b"]}, "plugins": {"files": {"x": 1}}})
    assert Settings.model_validate_json(settings.model_dump_json()) == settings


KEYS = ("agent", "name", "models", "cognition", "plugins", "jobs", "home", "tools", "allow", "sections", "timeout")
MARKS = (
    "~",
    "true",
    "1",
    "0x1",
    ".inf",
    "a:b",
    "'",
    '"',
    "!!x",
    "&a",
    "*a",
    "<<",
    "-",
    "[",
    "]",
    "{",
    "}",
    ",",
    "#",
    "|",
)
WORDS = st.sampled_from((*KEYS, *MARKS))
YAML_LIKE = st.lists(st.tuples(WORDS, st.sampled_from([": ", ":\n  ", "\n", " ", "\n    ", "\t", ""])), max_size=25)


@given(st.one_of(st.binary(max_size=60), YAML_LIKE.map(lambda parts: "".join(a + b for a, b in parts).encode())))
def test_any_text_gives_settings_or_a_config_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(data)
    try:
        outcome: object = read_settings(file)
    except ConfigError as error:
        outcome = str(error)
    assert isinstance(outcome, Settings) or str(outcome).startswith(str(file))
