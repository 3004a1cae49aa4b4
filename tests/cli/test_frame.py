"""The frame around every command: help, lookup, shared options, errors, exit statuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.installed import Installed

GROUP = "bumble_core.commands"

OWL = """
import click
from bumble_core.errors import ConfigError, SessionBusy
from bumble_core.cli.options import Common, common_options

@click.command()
@click.argument("what", default="options")
@common_options("config", "home", "json")
def owl(common: Common, what: str) -> None:
    '''Hoot.'''
    if what == "options":
        click.echo(f"{common.config} {common.home} {common.as_json} {common.debug}")
    elif what == "break":
        raise ValueError("first line\\nsecond line")
    elif what == "interrupt":
        raise KeyboardInterrupt
    elif what == "refuse":
        raise SessionBusy("taken")
    elif what == "group":
        raise ExceptionGroup("tasks", [ConfigError("one\\ntwo")])
    elif what == "three":
        return 3
    elif what == "leave":
        raise SystemExit("left")
    elif what == "flood":
        for _ in range(100_000):
            click.echo("hoot")
"""


@pytest.fixture
def owl(installed: Installed) -> Installed:
    installed.add("night-owl", "1.0", {GROUP: {"owl": "night_owl_commands:owl"}}, night_owl_commands=OWL)
    return installed


def test_help_imports_nothing_that_only_commands_need(installed: Installed) -> None:
    code = "import sys, bumble_core.cli as cli; cli.main(['--help']); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=installed.environment, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("doctor")[-1].split())
    assert "click" in loaded
    assert not loaded & {"pydantic", "pluggy", "structlog", "yaml", "rich", "platformdirs", "httpx", "asyncio"}


def test_help_lists_other_commands_with_their_distribution(owl: Installed) -> None:
    assert "owl       (from night-owl)" in owl.bumble("--help").out


def test_a_command_that_fails_to_import_says_so_only_when_it_is_called(installed: Installed) -> None:
    installed.add("wreck", "0.1", {GROUP: {"wreck": "wreck:wreck"}}, wreck="raise SystemExit(9)")
    listed, called = installed.bumble("--help"), installed.bumble("wreck")
    assert (listed.status, listed.err) == (0, "")
    assert called.status == 1
    assert called.err == (
        "Error: the command `wreck` of `wreck` fails to import: SystemExit: 9; repair or uninstall `wreck`\n"
    )


def test_two_strangers_with_one_command_are_told_apart(owl: Installed) -> None:
    owl.add("day-owl", "1.0", {GROUP: {"owl": "night_owl_commands:owl"}})
    assert "`day-owl` and `night-owl` both provide the command `owl`" in owl.bumble("owl").err


def test_nobody_takes_the_name_of_a_shipped_command(owl: Installed) -> None:
    owl.add("day-owl", "1.0", {GROUP: {"config": "night_owl_commands:owl"}})
    assert "Hoot." not in owl.bumble("config", "--help").out


@pytest.mark.parametrize(
    ("given", "advice"),
    [("rnu", "did you mean `run`?"), ("xyzzy", "`bumble --help` lists them.")],
    ids=["misspelt", "unlike-any"],
)
def test_an_unknown_command_is_answered_with_the_nearest(installed: Installed, given: str, advice: str) -> None:
    ended = installed.bumble(given)
    assert ended.status == 2
    assert f"No command `{given}`; {advice}" in ended.err


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["owl"], "None None False False"),
        (["--config", "a.yaml", "--home", "h", "owl"], "a.yaml h False False"),
        (["owl", "--config", "a.yaml", "--json"], "a.yaml None True False"),
        (["--config", "a.yaml", "owl", "--config", "b.yaml"], "b.yaml None False False"),
        (["--debug", "owl"], "None None False True"),
        (["owl", "--debug"], "None None False True"),
    ],
    ids=["none", "before", "after", "after-wins", "debug-before", "debug-after"],
)
def test_shared_options_stand_before_or_after_the_command(owl: Installed, arguments: list[str], printed: str) -> None:
    assert owl.bumble(*arguments).out == printed + "\n"


@pytest.mark.parametrize("arguments", [["--version"], ["owl", "--version"]], ids=["before", "after"])
def test_every_command_tells_the_version(owl: Installed, arguments: list[str]) -> None:
    assert owl.bumble(*arguments).out == "bumble 0.1.0\n"


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("break", 1, "Error: ValueError: first line second line (run with --debug for the traceback)\n"),
        ("refuse", 1, "Error: taken\n"),
        ("group", 2, "Error:\none\ntwo\n"),
        ("interrupt", 130, "Interrupted.\n"),
        ("three", 3, ""),
        ("leave", 1, "left\n"),
    ],
    ids=["unexpected-error", "error-of-ours", "lone-error-of-a-group", "ctrl-c", "chosen-status", "system-exit"],
)
def test_an_ending_has_its_status_and_one_line(owl: Installed, what: str, status: int, said: str) -> None:
    ended = owl.bumble("owl", what)
    assert (ended.status, ended.err.lstrip()) == (status, said)


@pytest.mark.parametrize("arguments", [["--debug", "owl", "break"], ["owl", "break", "--debug"]], ids=["first", "last"])
def test_debug_shows_the_traceback(owl: Installed, arguments: list[str]) -> None:
    ended = owl.bumble(*arguments)
    assert "Traceback (most recent call last)" in ended.err
    assert ended.err.endswith("Error: ValueError: first line second line\n")


def test_a_reader_that_goes_away_is_no_error(owl: Installed) -> None:
    reading, writing = os.pipe()
    command = owl.command("owl", "flood")
    process = subprocess.Popen(command, env=owl.environment, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    os.close(reading)
    _, said = process.communicate(timeout=60)
    assert said == b""


def test_an_installation_without_its_entry_points_says_what_to_do(installed: Installed) -> None:
    for file in installed.site.glob("*.dist-info/entry_points.txt"):
        file.unlink()
    assert "the command `run` is not installed" in installed.bumble("run").err


def test_ctrl_c_while_bumble_is_loaded_is_no_traceback(installed: Installed) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "bumble_core", "stages"]
    with subprocess.Popen(
        command, cwd=installed.work, env=installed.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        while b"click.globals" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert (process.returncode, b"Traceback" in rest, rest.endswith(b"Interrupted.\n")) == (130, False, True)
