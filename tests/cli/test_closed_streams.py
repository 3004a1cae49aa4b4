"""Streams that are closed, full or gone: `bumble` says what it can and ends as it should."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.talker import with_owl
from tests.installed import Installed


def in_shell(machine: Installed, script: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run `bumble` as `"$@"` of a shell script."""
    command = ["sh", "-c", script, "sh", *machine.command(*arguments)]
    return subprocess.run(
        command, cwd=machine.work, env=machine.environment, input=b"", capture_output=True, timeout=60, check=False
    )


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


@pytest.mark.parametrize("arguments", [("run", "note"), ("--help",), ("chat",)], ids=lambda arguments: arguments[0])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_traceback(owl: Installed, closed: str, arguments: tuple[str, ...]) -> None:
    done = in_shell(owl, f'"$@" {closed}', *arguments)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(("run", "note"), 0), (("run", "busy"), 1), (("run", "note", "--debug"), 0), (("nope",), 2)],
    ids=["fine", "failed", "logs", "misused"],
)
def test_a_full_standard_error_changes_no_exit_status(owl: Installed, arguments: tuple[str, ...], status: int) -> None:
    assert in_shell(owl, '"$@" 2>/dev/full', *arguments).returncode == status


def test_a_working_directory_that_is_gone_is_said_so(owl: Installed) -> None:
    done = in_shell(owl, 'mkdir gone && cd gone && rmdir ../gone && exec "$@"', "run", "hi")
    assert done.returncode == 2
    assert b"Error: the working directory cannot be found" in done.stderr
