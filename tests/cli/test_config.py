"""`bumble config` as a person uses it."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time

import jsonschema_rs
import pytest

from tests.installed import Installed

FOREIGN = """\
agent:
  name: Owl
  models: [ollama:x]
plugins:
  openai: {api_key: hunter2, url: "http://u:hunter2@x/?token=hunter2"}
"""


@pytest.fixture
def foreign(installed: Installed) -> Installed:
    installed.work.joinpath("bumble.yaml").write_text(FOREIGN)
    return installed


def test_show_prints_what_differs_with_its_origin(installed: Installed) -> None:
    ended = installed.bumble("config", "show", "--home", "nest", BUMBLE__GATE__MAX_PUSHBACKS="1")
    assert [line.split()[::2] for line in ended.out.splitlines()] == [
        ["KEY", "ORIGIN"],
        ["home", "--home"],
        ["gate.max_pushbacks", "BUMBLE__GATE__MAX_PUSHBACKS"],
    ]


def test_show_all_prints_the_defaults_too(installed: Installed) -> None:
    shown = {each["key"]: each for each in json.loads(installed.bumble("config", "show", "--all", "--json").out)}
    assert shown["cognition.max_context_tokens"] == {
        "key": "cognition.max_context_tokens", "value": 32768, "origin": "default",
    }  # fmt: skip


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"], ["show", "--all"], ["check"], ["trust"]])
def test_no_secret_is_printed(foreign: Installed, arguments: list[str]) -> None:
    held_back, trusted, after = (foreign.bumble("config", *each) for each in (arguments, ["trust"], arguments))
    assert "hunter2" not in held_back.out + held_back.err + trusted.out + after.out + after.err
    assert "***" in held_back.out + held_back.err


def test_what_is_held_back_is_shown_with_the_command_that_trusts_it(foreign: Installed) -> None:
    ended = foreign.bumble("config", "show")
    assert ended.err.splitlines() == [
        f"{foreign.work}/bumble.yaml is not trusted, and this is held back:",
        "  agent.models: ['ollama:x'] (bumble.yaml:3)",
        "  plugins.openai.api_key: *** (bumble.yaml:5)",
        "  plugins.openai.url: http://u:***@x/?token=*** (bumble.yaml:5)",
        f"To trust it: bumble config trust {foreign.work}",
    ]
    assert "ollama" not in ended.out


def test_a_trusted_file_is_in_force_until_it_changes(foreign: Installed) -> None:
    told = foreign.bumble("config", "trust", str(foreign.work))
    trusted = foreign.bumble("config", "show")
    foreign.work.joinpath("bumble.yaml").write_text(FOREIGN + "tools: {allow: ['*']}\n")
    changed = foreign.bumble("config", "show")
    assert told.out.startswith(f"{foreign.work}/bumble.yaml is trusted until it changes. It sets:\n  agent.models:")
    assert ("ollama:x" in trusted.out, trusted.err) == (True, "")
    assert "is not trusted" in changed.err


def test_distrust_takes_it_back_and_is_told_in_one_line(foreign: Installed) -> None:
    foreign.bumble("config", "trust")
    foreign.bumble("config", "distrust")
    assert foreign.bumble("config", "show").err == (
        f"{foreign.work}/bumble.yaml is not trusted; 3 settings are held back."
        f" To trust it: bumble config trust {foreign.work}\n"
    )


@pytest.mark.parametrize(
    ("typed", "in_force"), [(b"y\n", True), (b"n\n", False), (b"\n", False)], ids=["yes", "no", "enter"]
)
def test_on_a_terminal_the_person_is_asked_once(foreign: Installed, typed: bytes, in_force: bool) -> None:
    first = on_terminal(foreign, typed, "config", "show")
    second = on_terminal(foreign, b"", "config", "show")
    assert "Did you write it, or do you trust who did? [y/N]" in first
    assert "Did you write it" not in second
    assert [("ollama:x" in shown.split("[y/N]")[-1]) for shown in (first, second)] == [in_force, in_force]


def test_check_says_which_file_is_fine(installed: Installed) -> None:
    installed.work.joinpath("bumble.yaml").write_text("agent: {name: Owl, models: [ollama:x]}\n")
    named, found = installed.bumble("config", "check", "bumble.yaml"), installed.bumble("config", "check")
    assert (named.status, named.out, named.err) == (0, "bumble.yaml is fine.\n", "")
    assert (found.status, found.out) == (0, f"{installed.work}/bumble.yaml is fine.\n")


def test_check_reports_every_problem_and_exits_with_2(installed: Installed) -> None:
    installed.work.joinpath("b.yaml").write_text("gate: {max_pushbacks: -1}\nhom: x\n")
    ended = installed.bumble("config", "check", "b.yaml")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        "Error:",
        "b.yaml:1: gate.max_pushbacks: expected a whole number at least 0, got -1",
        "b.yaml:2: hom: unknown key; did you mean `home`?",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stages: {judge: jugde}", "stages.judge: `jugde`"),
        ("jobs: {reveiw: {turns: 2}}", "jobs.reveiw: no such job"),
        ("cognition: {history_compression: {phases: [prume]}}", "no phase `prume`"),
        ("plugins: {ruter: {classifier: true}}", "plugins.ruter: no such plugin; did you mean `router`?"),
        ("plugins: {files: {workspase: x}}", "plugins.files.workspase: no such key"),
        ("plugins: {router: {classifer: true}}", "plugins.router.classifer: no such key; did you mean `classifier`?"),
    ],
    ids=["stage", "job", "phase", "plugin", "key", "key-of-a-stage"],
)
def test_check_looks_at_what_plugins_offer(installed: Installed, text: str, said: str) -> None:
    installed.work.joinpath("b.yaml").write_text(f"{text}\n")
    ended = installed.bumble("config", "check", "b.yaml")
    assert (ended.status, ended.out, said in ended.err.partition("Error: ")[2]) == (2, "", True)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ('{"agent": {"models": ["ollama:x"]}, "jobs": {"a": {"timeout": 3, "turns": 2}}}', True),
        ('{"plugins": {"disabled": ["a"], "files": {"x": 1}}}', True),
        ('{"plugins": {"files": 1}}', False),
        ('{"agent": {"nam": "x"}}', False),
        ('{"cognition": {"max_context_tokens": 0}}', False),
        ('{"jobs": {"a": {"turns": 0}}}', False),
    ],
    ids=["models", "plugins", "plugin-of-text", "unknown-key", "out-of-range", "optional-out-of-range"],
)
def test_the_schema_describes_the_file(installed: Installed, text: str, fits: bool) -> None:
    schema = json.loads(installed.bumble("config", "schema").out)
    assert jsonschema_rs.is_valid(schema, json.loads(text)) is fits


def test_the_schema_describes_every_key_in_words(installed: Installed) -> None:
    schema = json.loads(installed.bumble("config", "schema").out)
    models = [schema, *schema["$defs"].values()]
    plain = [(name, each) for model in models for name, each in model["properties"].items() if "$ref" not in each]
    assert [name for name, each in plain if not each.get("description")] == []


def test_path_shows_where_was_looked_and_what_is_used(foreign: Installed) -> None:
    rows = json.loads(foreign.bumble("config", "path", "--json").out)
    assert [row["rule"] for row in rows] == ["working directory", "home"]
    assert [row["used"] for row in rows] == ["in part: not trusted", "yes"]
    assert rows[1]["path"].endswith("/bumble/Owl")


@pytest.mark.parametrize("command", ["trust", "distrust"])
def test_trust_needs_a_file(installed: Installed, command: str) -> None:
    ended = installed.bumble("config", command, str(installed.work))
    assert (ended.status, ended.err) == (2, f"Error: {installed.work}: there is no bumble.yaml\n")


def on_terminal(installed: Installed, typed: bytes, *arguments: str) -> str:
    """Run `bumble` on a terminal, type, and return all that the screen got."""
    parent, child = pty.openpty()
    environment = {**installed.environment, "TERM": "dumb", "COLUMNS": "200"}
    command = installed.command(*arguments)
    process = subprocess.Popen(command, cwd=installed.work, env=environment, stdin=child, stdout=child, stderr=child)
    os.close(child)
    os.write(parent, typed)
    shown, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([parent], [], [], 0.1)
        try:
            shown += os.read(parent, 65536) if ready else b""
        except OSError:  # the last process left the terminal
            break
    os.close(parent)
    process.wait(timeout=60)
    return shown.decode()
