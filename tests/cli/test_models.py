"""`bumble models`: list and pull."""

from __future__ import annotations

import json
import signal
import subprocess

import pexpect
import pytest

from tests.cli.talker import with_owl
from tests.installed import Installed

DOWN = "plugins:\n  disabled: [openai, local]\n  ollama: {base_url: 'http://127.0.0.1:9'}\n"


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


@pytest.mark.parametrize("command", [("models",), ("models", "list")], ids=["alone", "list"])
def test_models_are_listed(owl: Installed, command: tuple[str, ...]) -> None:
    heading, line = owl.bumble(*command).out.splitlines()
    assert heading.split() == ["MODEL", "CONTEXT", "WINDOW", "SIZE", "DEFAULT", "NOTE"]
    assert line.split() == ["owl:wise", "8192", "98", "MB"]


def test_a_provider_that_does_not_answer_is_told_with_its_reason(installed: Installed) -> None:
    with_owl(installed, DOWN)
    ended = installed.bumble("models", "--json")
    listed = json.loads(ended.out)
    assert ended.status == 0
    assert [model["ref"] for model in listed["models"]] == ["owl:wise"]
    assert listed["unreachable"][0]["provider"] == "ollama"
    assert "127.0.0.1:9" in installed.bumble("models").err


@pytest.mark.parametrize("name", ["wise", "owl:wise"], ids=["bare", "with-provider"])
def test_a_model_is_pulled_and_a_pipe_gets_plain_lines(owl: Installed, name: str) -> None:
    ended = owl.bumble("models", "pull", name)
    assert (ended.status, ended.out) == (0, "owl:wise is ready.\n")
    assert ended.err.splitlines()[::10] == ["Fetching owl:wise: 0 B of 100 MB", "Fetching owl:wise: 100 MB of 100 MB"]


def test_a_terminal_gets_a_bar(owl: Installed) -> None:
    python, *rest = owl.command("models", "pull", "wise")
    environment = {**owl.environment, "TERM": "xterm"}
    process = pexpect.spawn(python, rest, cwd=str(owl.work), env=environment, encoding="utf-8", timeout=20)
    process.expect("100.0/100.0 MB")
    process.expect("owl:wise is ready")
    process.close()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nothing", "the owl has no model `nothing`"),
        ("local:smollm2", "the provider `local` is not here, so `smollm2` cannot be fetched"),
        ("a:", "expected `provider:model`"),
    ],
    ids=["unknown", "no-provider", "no-name"],
)
def test_what_cannot_be_pulled_says_why(owl: Installed, name: str, problem: str) -> None:
    ended = owl.bumble("models", "pull", name)
    assert ended.status in {1, 2}
    assert (ended.out, problem in ended.err) == ("", True)


def test_ctrl_c_ends_a_download_without_a_traceback(owl: Installed) -> None:
    command = owl.command("models", "pull", "large")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=owl.work, env=owl.environment, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err
