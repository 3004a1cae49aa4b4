"""A home in which something else stands where a file or a folder should."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.talker import with_owl
from tests.installed import Installed


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


@pytest.fixture
def home(owl: Installed) -> Path:
    assert owl.bumble("--home", "home", "run", "say hello").status == 0
    return owl.work / "home"


@pytest.mark.parametrize("name", ["models.json", "endpoints.json", "token_factors.json"])
def test_a_pipe_in_place_of_what_was_learnt_holds_nothing_up(owl: Installed, home: Path, name: str) -> None:
    home.joinpath(name).unlink(missing_ok=True)
    os.mkfifo(home / name)
    ended = owl.bumble("--home", "home", "run", "say hello")
    assert (ended.status, ended.out) == (0, "hello\n")


def test_a_pipe_in_place_of_the_home_s_version_is_named(owl: Installed, home: Path) -> None:
    home.joinpath("home.json").unlink()
    os.mkfifo(home / "home.json")
    ended = owl.bumble("--home", "home", "run", "say hello")
    assert (ended.status, "it is not a regular file" in ended.err, "Traceback" in ended.err) == (1, True, False)


@pytest.mark.parametrize("arguments", [("run", "say hello"), ("sessions", "list"), ("chat",)], ids=lambda a: a[0])
def test_a_file_in_place_of_the_locks_is_named(owl: Installed, home: Path, arguments: tuple[str, ...]) -> None:
    for lock in home.joinpath("locks").iterdir():
        lock.unlink()
    home.joinpath("locks").rmdir()
    home.joinpath("locks").touch()
    ended = owl.bumble("--home", "home", *arguments)
    assert (ended.status, "home/locks" in ended.err) == (1, True)
    assert "choose another" in ended.err


def test_a_folder_in_place_of_a_lock_is_named(owl: Installed, home: Path) -> None:
    for lock in home.joinpath("locks").iterdir():
        lock.unlink()
        lock.mkdir()
    ended = owl.bumble("--home", "home", "run", "--session", "s", "say hello")
    assert (ended.status, "nothing can be locked with" in ended.err) in {(1, True), (0, False)}


def test_a_configuration_that_nobody_writes_is_not_waited_for(owl: Installed) -> None:
    os.mkfifo(owl.work / "pipe")
    both = [("config", "check", "pipe"), ("--config", "pipe", "stages")]
    with ThreadPoolExecutor() as at_once:
        for ended in at_once.map(lambda arguments: owl.bumble(*arguments), both):
            assert (ended.status, "pipe that nobody writes to" in ended.err) == (2, True)


def test_a_configuration_may_come_through_a_pipe(owl: Installed) -> None:
    ended = owl.bumble("config", "check", "/dev/stdin", input="agent: {name: owl}\n")
    assert (ended.status, "is fine" in ended.out) == (0, True)


@pytest.mark.parametrize("option", ["--home", "--config"])
def test_an_empty_path_is_not_the_working_directory(owl: Installed, option: str) -> None:
    ended = owl.bumble(option, "", "run", "say hello")
    assert (ended.status, "it is empty" in ended.err, [*owl.work.iterdir()]) == (2, True, [])
