"""Where the file is, and what wins: flag over environment over file over default."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bumble_core.configuration import Configuration
from bumble_core.configuration.values import values_of
from bumble_core.errors import ConfigError
from bumble_core.home import default_home
from tests.machine import Machine


def test_the_first_place_that_has_a_file_wins(machine: Machine) -> None:
    files = {
        "user": machine.write(machine.user, "agent: {name: user}"),
        "above": machine.write(machine.work.parent.parent, "agent: {name: above}"),
        "work": machine.write(machine.work, "agent: {name: work}"),
        "variable": machine.write(machine.root / "variable", "agent: {name: variable}"),
        "named": machine.write(machine.root / "named", "agent: {name: named}"),
    }
    variable = {"BUMBLE_CONFIG": str(files["variable"])}
    found = [machine.resolve(files["named"], variable), machine.resolve(None, variable)]
    for place in ("work", "above", "user"):
        found.append(machine.resolve())
        files[place].unlink()
    assert [each.settings.agent.name for each in found] == ["named", "variable", "work", "above", "user"]
    assert machine.resolve().source is None


@pytest.mark.parametrize(("named", "variable"), [("no.yaml", ""), (None, "no.yaml")], ids=["--config", "BUMBLE_CONFIG"])
def test_a_named_file_that_is_missing_is_an_error(machine: Machine, named: str | None, variable: str) -> None:
    rule = "--config" if named else "BUMBLE_CONFIG"
    with pytest.raises(ConfigError, match=rf"no\.yaml: no such file, named by {rule}"):
        machine.resolve(Path(named) if named else None, {"BUMBLE_CONFIG": variable})


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("nowhere")], ids=["pipe", "folder", "link"]
)
def test_something_else_of_that_name_is_an_error(machine: Machine, make: Callable[[Path], None]) -> None:
    machine.work.mkdir(parents=True)
    make(machine.work / "bumble.yaml")
    with pytest.raises(ConfigError, match=r"work/bumble\.yaml: not a regular file"):
        machine.resolve()


def test_every_place_that_was_looked_at_is_kept_in_order(machine: Machine) -> None:
    looked_at = machine.resolve().located.looked_at
    assert looked_at[0] == ("working directory", machine.work / "bumble.yaml")
    assert looked_at[-1] == ("user", machine.user / "bumble.yaml")


def test_each_value_has_the_origin_that_wins(machine: Machine) -> None:
    machine.write(machine.user, "agent:\n  name: file\ncognition:\n  temperature: 1\n  reflex_max_tokens: 7\n")
    environment = {"BUMBLE__COGNITION__TEMPERATURE": "0.5", "BUMBLE_MODEL": "a, b:c"}
    found = machine.resolve(None, environment, {"agent.models": ["flag"]})
    assert [str(found.origins[key]) for key in ("agent.name", "cognition.temperature", "agent.models", "home")] == [
        f"{machine.user}/bumble.yaml:2",
        "BUMBLE__COGNITION__TEMPERATURE",
        "--model",
        "default",
    ]
    assert (found.settings.cognition.temperature, str(found.settings.agent.models[0])) == (0.5, "flag")


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("BUMBLE_HOME", "nest", "home", "WORK/nest"),
        ("BUMBLE_HOME", "~nobody-of-that-name", "home", "WORK/~nobody-of-that-name"),
        ("BUMBLE_MODEL", "ollama:qwen3:8b, local:smollm2", "agent.models", ["ollama:qwen3:8b", "local:smollm2"]),
        ("BUMBLE__AGENT__NAME", "no", "agent.name", "no"),
        ("BUMBLE__AGENT__ALWAYS_DELIBERATE", "true", "agent.always_deliberate", True),
        ("BUMBLE__COGNITION__MAX_CONTEXT_TOKENS", "8192", "cognition.max_context_tokens", 8192),
        ("BUMBLE__COGNITION", "{temperature: 0.5}", "cognition.temperature", 0.5),
        ("BUMBLE__TOOLS__DENY", "*_file, [a]*", "tools.deny", ["*_file", "[a]*"]),
        ("BUMBLE__TOOLS__DENY", '["a,b"]', "tools.deny", ["a,b"]),
        ("BUMBLE__JOBS__DIGEST__SCHEDULE", "*/5 * * * *", "jobs.digest.schedule", "*/5 * * * *"),
        ("BUMBLE__PLUGINS__FILES__DEPTH", "3", "plugins.files.depth", 3),
        ("BUMBLE__PREFER", "{'tool:x': y}", "prefer.tool:x", "y"),
        ("BUMBLE__AGENT__NAME", "", "agent.name", "bumble"),
    ],
)
def test_the_environment_sets_any_key(machine: Machine, variable: str, text: str, key: str, value: object) -> None:
    found = machine.resolve(None, {variable: text})
    assert valued(found)[key] == (str(value).replace("WORK", str(machine.work)) if key == "home" else value)


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        (
            "BUMBLE__COGNITON__TEMPERATURE", "1",
            "BUMBLE__COGNITON__TEMPERATURE: no such setting; did you mean `BUMBLE__COGNITION__TEMPERATURE`?",
        ),
        ("BUMBLE__COGNITION__TEMPERATURE", "warm", "BUMBLE__COGNITION__TEMPERATURE: cognition.temperature: expected"),
        ("BUMBLE__COGNITION__TEMPERATURE", "[1", "BUMBLE__COGNITION__TEMPERATURE: not valid YAML"),
        ("BUMBLE_MODEL", "ollama:", "BUMBLE_MODEL: agent.models[0]: expected a model's name"),
        ("BUMBLE__COGNITION", "{tempratur: 1}", "BUMBLE__COGNITION: cognition.tempratur: unknown key"),
    ],
    ids=["misspelt", "misfit", "unreadable", "model", "inside"],
)  # fmt: skip
def test_a_wrong_variable_is_named(machine: Machine, variable: str, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        machine.resolve(None, {variable: text})
    assert str(caught.value).startswith(said)


def test_problems_of_all_sources_come_at_once(machine: Machine) -> None:
    machine.write(machine.user, "gate: {max_pushbacks: x}")
    with pytest.raises(ConfigError) as caught:
        machine.resolve(None, {"BUMBLE__TOOLS__TIMEOUT_S": "0"}, {"agent.models": [3]})
    assert [line.split(": ")[1] for line in str(caught.value).splitlines()] == [
        "gate.max_pushbacks", "tools.timeout_s", "agent.models[0]",
    ]  # fmt: skip


def test_the_home_is_named_by_the_entity_unless_it_is_set(machine: Machine) -> None:
    machine.write(machine.user, "agent: {name: Owl}")
    assert machine.resolve().home == machine.root / "data" / "Owl"
    assert machine.resolve(None, {"BUMBLE_HOME": "/nest"}).home == Path("/nest")
    assert machine.resolve(None, {"BUMBLE_HOME": "/nest"}, {"home": Path("tree")}).home == machine.work / "tree"


def valued(found: Configuration) -> dict[str, object]:
    return {".".join(key): value for key, value in values_of(found.settings)}


@pytest.mark.parametrize("name", ["owl", "my owl", "...", "\u6f22\u5b57", "x" * 300, "trust.json", "Trust.Lock"])
def test_an_entity_has_one_home_on_the_command_line_and_in_an_application(machine: Machine, name: str) -> None:
    machine.write(machine.work, f'agent: {{name: "{name}"}}')
    found = machine.resolve().home
    assert found.name == default_home(name).name
    assert found.name.casefold() not in {"trust.json", "trust.lock"}
    assert len(found.name.encode()) < 250
