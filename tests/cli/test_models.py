"""`bumble models`: list, pull, and choose."""

from __future__ import annotations

import json
import signal
import subprocess

import pexpect
import pytest

from tests.cli.talker import with_owl
from tests.installed import Installed

WITH_JOBS = "agent: {models: [owl:wise]}\nplugins: {disabled: [openai, ollama, local]}\n"
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


def test_providers_are_listed_with_what_is_wrong_with_them(installed: Installed) -> None:
    with_owl(installed, DOWN)
    rows = json.loads(installed.bumble("models", "providers", "--json").out)
    assert {row["provider"]: row["models"] for row in rows} == {"ollama": 0, "ollama-cloud": 0, "owl": 1}
    assert "127.0.0.1:9" in next(row["problem"] for row in rows if row["provider"] == "ollama")


def test_a_choice_for_a_job_survives_a_restart_until_it_is_dropped(installed: Installed) -> None:
    owl, job = with_owl(installed, WITH_JOBS), "verification_review"
    assert owl.bumble("models", "switch", "owl:wise", "owl:old", "--job", job).out == (
        f"{job}: owl:wise, owl:old (chosen)\nNo provider lists `owl:old`.\n"
    )
    rows = {row["role"]: row for row in json.loads(owl.bumble("models", "chosen", "--json").out)}
    assert (rows[job]["models"], rows[job]["from"]) == (["owl:wise", "owl:old"], "chosen")
    assert (rows["conversation"]["models"], rows["conversation"]["from"]) == (["owl:wise"], "agent.models")
    assert owl.bumble("models", "switch", "--default", "--job", job).out == f"{job}: owl:wise (agent.models)\n"


def test_a_chat_chooses_for_a_job_and_leaves_its_own_models_alone(installed: Installed) -> None:
    owl, job = with_owl(installed, WITH_JOBS), "verification_review"
    typed = f"/model {job} owl:wise owl:old\n/model {job}\n/model {job} olw:x\n/model\n"
    ended = owl.bumble("chat", input=typed)
    asked = f"{job}: owl:wise, owl:old (chosen)\n"
    assert ended.out.startswith(
        f"{asked}No provider lists `owl:old`.\n{asked}In use: owl:wise (from the configuration)"
    )
    assert "no provider `olw`" in ended.err
    assert (
        owl.bumble("chat", input=f"/model {job}\n/model {job} default\n").out
        == f"{asked}{job}: owl:wise (agent.models)\n"
    )


def test_a_choice_for_the_conversation_is_used_by_the_next_turn(owl: Installed) -> None:
    assert owl.bumble("models", "switch", "owl:old").status == 0
    assert owl.bumble("run", "--json", "hello").out.count("old heard") > 0
    assert "chosen for the conversation" in owl.bumble("models", "chosen").out


@pytest.mark.parametrize(
    ("arguments", "status", "problem"),
    [
        (
            ("owl:wise", "--job", "verification"),
            1,
            "there is no job `verification`; did you mean `verification_review`?",
        ),
        (("oul:wise",), 1, "no provider `oul`; did you mean `owl:wise`?"),
        ((), 2, "name one model at least, or say --default"),
        (("owl:wise", "--default"), 2, "name one model at least, or say --default"),
    ],
    ids=["no-job", "no-provider", "nothing", "both"],
)
def test_a_switch_that_makes_no_sense_says_why(
    installed: Installed, arguments: tuple[str, ...], status: int, problem: str
) -> None:
    owl = with_owl(installed, WITH_JOBS)
    ended = owl.bumble("models", "switch", *arguments)
    assert (ended.status, ended.out, problem in ended.err) == (status, "", True)
