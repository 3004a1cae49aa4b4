"""Rows as a person, a pipe and a program read them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from bumble_core.cli.output import Cell, print_rows, shown
from tests.installed import Installed

ROWS: list[list[Cell]] = [["路由", None, ["a", "b"]], ["judge", True, []]]


def test_a_pipe_gets_aligned_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["stage", "chosen", "passed_over"], ROWS)
    assert capsys.readouterr().out == (
        "STAGE  CHOSEN  PASSED OVER\n路由   -       a, b\njudge  yes\n"  # two columns per Chinese character
    )


def test_json_keeps_keys_and_types(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(["stage", "chosen", "passed_over"], ROWS, as_json=True)
    first, second = json.loads(capsys.readouterr().out)
    assert first == {"stage": "路由", "chosen": None, "passed_over": ["a", "b"]}
    assert second["chosen"] is True


@pytest.mark.parametrize(("as_json", "printed"), [(False, "No plugins.\n"), (True, "[]\n")], ids=["person", "program"])
def test_no_rows_are_said_in_words(capsys: pytest.CaptureFixture[str], as_json: bool, printed: str) -> None:
    print_rows(["name"], [], as_json=as_json, empty="No plugins.")
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("given", "safe"),
    [("\x1b[2Jgone", "\\x1b[2Jgone"), ("two\nlines\t.", "two lines ."), ("abc\u202edef", "abc\\u202edef")],
    ids=["escape", "lines", "direction"],
)
def test_no_text_can_drive_the_terminal(given: str, safe: str) -> None:
    assert shown(given) == safe


def test_json_is_valid_whatever_the_encoding(installed: Installed) -> None:
    code = "from bumble_core.cli.output import print_json; print_json({'a': 'é'})"
    environment = {**installed.environment, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout) == {"a": "é"}


def test_a_terminal_gets_a_table_and_no_markup_is_read(installed: Installed) -> None:
    code = "from bumble_core.cli.output import print_rows; print_rows(['name'], [['[red]x[/red]']])"
    parent, child = pty.openpty()
    subprocess.run(
        [sys.executable, "-c", code], env={**installed.environment, "TERM": "xterm"}, stdout=child, check=True
    )
    os.close(child)
    printed = os.read(parent, 4096).decode()
    os.close(parent)
    assert "[red]x[/red]" in printed
    assert "─" in printed
