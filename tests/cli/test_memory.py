"""`bumble memory`: what a person sees and changes of the files that jobs write."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.talker import with_owl
from tests.installed import Installed

FACTS = "semantic/facts.md"
OLD = "## Confirmed Facts\n\n- Lives in Bergen [turn 3]\n"
NEW = OLD.replace("Bergen", "Oslo")


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


@pytest.fixture
def editing(tmp_path: Path) -> str:
    """An editor that replaces Bergen by Oslo."""
    script = tmp_path / "edit.py"
    script.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        f"path.write_text(path.read_text().replace('Bergen', 'Oslo') or {NEW!r})\n"
    )
    return f"{sys.executable} {script}"


def remembered(machine: Installed, text: str = OLD) -> Path:
    file = machine.user / ".local/share/bumble/bumble/memory" / FACTS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    os.utime(file, (0, 0))  # long ago: nobody is at it
    return file


def test_without_a_memory_it_says_so(owl: Installed) -> None:
    assert owl.bumble("memory", "list").out == "The agent remembers nothing yet.\n"
    assert json.loads(owl.bumble("memory", "list", "--json").out) == []


def test_files_are_listed_and_shown_to_the_byte(owl: Installed) -> None:
    remembered(owl, "\ufeff## Facts\r\n- a\r\n")
    assert owl.bumble("memory", "list").out.splitlines()[1].split() == [FACTS, "16", "0"]
    assert json.loads(owl.bumble("memory", "show", FACTS, "--json").out)["text"] == "\ufeff## Facts\r\n- a\r\n"
    assert owl.bumble("memory", "show", f"memory/{FACTS}").status == 0


def test_a_picture_in_the_memory_is_listed_and_not_shown(owl: Installed) -> None:
    remembered(owl).with_name("bee.png").write_bytes(b"\x89PNG\xff")
    rows = json.loads(owl.bumble("memory", "list", "--json").out)
    assert [(row["path"], row["characters"]) for row in rows] == [("semantic/bee.png", None), (FACTS, len(OLD))]
    shown = owl.bumble("memory", "show", "semantic/bee.png")
    assert (shown.status, shown.out, "UTF-8" in shown.err) == (1, "", True)


def test_an_edit_is_kept_and_the_text_before_it_too(owl: Installed, editing: str) -> None:
    file = remembered(owl)
    assert owl.bumble("memory", "edit", FACTS, EDITOR=editing).out == f"Wrote {FACTS}.\n"
    assert file.read_text() == NEW
    assert "-- Lives in Bergen [turn 3]\n+- Lives in Oslo [turn 3]" in owl.bumble("memory", "diff", FACTS).out
    history = json.loads(owl.bumble("memory", "history", FACTS, "--json").out)
    assert [(each["characters"], each["written_by"]) for each in history] == [(len(NEW), None), (len(OLD), None)]
    shown = owl.bumble("memory", "show", FACTS, history[1]["version"][:8])
    assert shown.out == OLD


def test_an_edit_that_changes_nothing_writes_nothing(owl: Installed, editing: str) -> None:
    remembered(owl, NEW)
    assert owl.bumble("memory", "edit", FACTS, EDITOR=editing).out == f"{FACTS} is as it was.\n"
    assert len(owl.bumble("memory", "history", FACTS).out.splitlines()) == 2


def test_a_new_file_can_be_begun(owl: Installed, editing: str) -> None:
    assert owl.bumble("memory", "edit", FACTS, EDITOR=editing).status == 0
    assert owl.bumble("memory", "show", FACTS).out == NEW


def test_what_was_written_during_an_edit_is_merged(owl: Installed, tmp_path: Path) -> None:
    file = remembered(owl)
    script = tmp_path / "slow.py"
    script.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('Bergen', 'Oslo'))\n"
        f"other = pathlib.Path({str(file)!r})\n"
        "other.write_text('- Has a cat [turn 9]\\n' + other.read_text())\n"
    )
    done = owl.bumble("memory", "edit", FACTS, EDITOR=f"{sys.executable} {script}")
    assert done.out == f"Wrote {FACTS}, with what a job wrote meanwhile.\n"
    assert file.read_text() == f"- Has a cat [turn 9]\n{NEW}"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "semantic/fact.md"), f"the memory has no `semantic/fact.md`; did you mean `{FACTS}`?"),
        (("show", "../secret"), "give a path relative to memory"),
        (("show", FACTS, "12345678"), "no such version is kept"),
        (("diff", FACTS, "1"), "no such version is kept"),
        (("history", "zzz"), "`bumble memory list` shows what there is"),
    ],
    ids=["near-name", "outside", "no-version", "too-short", "nothing-near"],
)
def test_what_is_not_there_is_an_error_that_says_what_is(owl: Installed, arguments: tuple[str, ...], told: str) -> None:
    remembered(owl)
    done = owl.bumble("memory", *arguments)
    assert (done.status, done.out) == (1, "")
    assert told in done.err
