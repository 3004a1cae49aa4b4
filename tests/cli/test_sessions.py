"""`bumble sessions`, as processes on real conversations."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bumble_core import Turn
from tests.cli.talker import with_owl
from tests.installed import Installed


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    machine = with_owl(Installed.at(tmp_path_factory.mktemp("machine") / "machine"))
    for session, text in (("one", "say Good \u6f22\u5b57 morning"), ("one", "note"), ("two", "say C++ is 100%")):
        assert machine.bumble("run", "--gate", "off", "--session", session, text).status == 0
    return machine


@pytest.fixture
def talked(conversations: Installed, tmp_path: Path) -> Installed:
    """A machine of its own with the sessions `one` (two turns) and `two`."""
    return Installed(Path(shutil.copytree(conversations.root, tmp_path / "copy")))


def test_sessions_are_listed_the_latest_first(talked: Installed) -> None:
    table = talked.bumble("sessions", "list").out.splitlines()
    assert [line.split()[0] for line in table] == ["ID", "two", "one"]
    listed = json.loads(talked.bumble("sessions", "list", "--json").out)
    assert [(each["id"], each["turn_count"]) for each in listed] == [("two", 1), ("one", 2)]


def test_no_sessions_are_said_so(owl: Installed) -> None:
    assert owl.bumble("sessions", "list").out == "There are no sessions yet.\n"
    assert json.loads(owl.bumble("sessions", "list", "--json").out) == []


def test_a_session_is_shown_with_its_tools(talked: Installed) -> None:
    out = talked.bumble("sessions", "show", "one").out
    assert 'you: note\n  - note_owl: ok text="Uhu!"\nbumble: wise heard' in out
    assert "noted" not in out
    assert "    | noted" in talked.bumble("sessions", "show", "one", "--full").out


def test_the_latest_session_is_shown_when_none_is_named(talked: Installed, owl: Installed) -> None:
    assert talked.bumble("sessions", "show").out.splitlines()[0] == "Session two"
    none = owl.bumble("sessions", "show")
    assert (none.status, "there are no sessions yet" in none.err) == (1, True)


def test_a_session_is_shown_as_turns_in_json(talked: Installed) -> None:
    turns = json.loads(talked.bumble("sessions", "show", "--json", "one").out)
    assert [Turn.model_validate(turn).status for turn in turns] == ["done", "done"]


@pytest.mark.parametrize(
    "arguments", [("show", "on"), ("export", "on"), ("delete", "--yes", "one", "on")], ids=["show", "export", "delete"]
)
def test_a_misspelt_session_is_told_and_nothing_is_done(talked: Installed, arguments: tuple[str, ...]) -> None:
    ended = talked.bumble("sessions", *arguments)
    assert (ended.status, ended.out, ended.err) == (1, "", "Error: no session `on`; did you mean `one`?\n")
    assert len(json.loads(talked.bumble("sessions", "list", "--json").out)) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [("\u6f22\u5b57", {"one"}), ("c++", {"two"}), ("100%", {"two"}), ('"', set()), ("nowhere", set())],
    ids=["chinese", "signs", "percent", "quote", "nothing"],
)
def test_any_text_can_be_searched(talked: Installed, text: str, found: set[str]) -> None:
    hits = json.loads(talked.bumble("sessions", "search", "--json", text).out)
    assert {hit["session_id"] for hit in hits} == found


def test_a_session_is_deleted_only_after_a_yes(talked: Installed) -> None:
    no = talked.bumble("sessions", "delete", "one", input="n\n")
    yes = talked.bumble("sessions", "delete", "one", input="y\n")
    assert (no.status, no.out) == (130, "")
    assert (yes.status, yes.out) == (0, "Deleted one, 2 turns.\n")
    assert talked.bumble("sessions", "show", "one").status == 1


def test_an_export_is_imported_again_as_it_was(talked: Installed) -> None:
    before = talked.bumble("sessions", "export", "one", "two", "-o", "all.jsonl")
    assert talked.bumble("sessions", "delete", "--yes", "one", "two").status == 0
    after = talked.bumble("sessions", "import", "all.jsonl")
    assert (before.out, after.out) == ("", "Imported one, 2 turns.\nImported two, 1 turns.\n")
    assert talked.bumble("run", "--session", "one", "count").out == "3 messages of yours\n"
    assert talked.bumble("sessions", "show", "two").out.endswith("bumble: C++ is 100%\n")


def test_an_existing_session_is_imported_only_over_it_or_under_another_name(talked: Installed) -> None:
    data = talked.bumble("sessions", "export", "one").out
    plain = talked.bumble("sessions", "import", "-", input=data)
    assert "there is a session `one` already" in plain.err
    assert talked.bumble("sessions", "import", "-", "--as", "copy", input=data).out == "Imported copy, 2 turns.\n"
    assert talked.bumble("sessions", "import", "-", "--replace", input=data).out == "Imported one, 2 turns.\n"
    counts = {each["id"]: each["turn_count"] for each in json.loads(talked.bumble("sessions", "list", "--json").out)}
    assert counts == {"one": 2, "two": 1, "copy": 2}


def test_one_bad_line_and_nothing_is_imported(talked: Installed) -> None:
    data = talked.bumble("sessions", "export", "one").out
    talked.work.joinpath("bad.jsonl").write_text(data.replace('"session_id":"one"', '"session_id":"new"') + "{}\n")
    ended = talked.bumble("sessions", "import", "bad.jsonl")
    assert ended.status == 1
    assert ended.err.startswith("Error: bad.jsonl, line 3: this is no turn: ")
    assert talked.bumble("sessions", "show", "new").status == 1


def test_two_sessions_cannot_get_one_name(talked: Installed) -> None:
    data = talked.bumble("sessions", "export", "one", "two").out
    ended = talked.bumble("sessions", "import", "-", "--as", "both", input=data)
    assert (ended.status, "--as names one session" in ended.err) == (2, True)


def test_markdown_is_for_reading(talked: Installed) -> None:
    path = Path(talked.work, "one.md")
    talked.bumble("sessions", "export", "one", "--format", "markdown", "--output", str(path))
    text = path.read_text()
    assert text.startswith("# Session `one`\n\n## Turn 1, ")
    assert "**bumble**\n\n> Good \u6f22\u5b57 morning\n" in text


def test_an_export_into_a_pipe_is_written_through_it(talked: Installed) -> None:
    pipe = talked.work / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    ended = talked.bumble("sessions", "export", "two", "-o", "pipe")
    assert (ended.status, os.read(reading, 12)) == (0, b'{"id":"turn_')
    os.close(reading)


def test_ctrl_c_during_an_import_leaves_whole_sessions(owl: Installed) -> None:
    line = owl.bumble("run", "--json", "--session", "s", "say hi").out
    turns = [
        Turn.model_validate_json(line.replace("msg_", f"msg_{n}_")).model_copy(update={"id": f"t{n}"})
        for n in range(2000)
    ]
    owl.work.joinpath("many.jsonl").write_text("".join(f"{turn.model_dump_json()}\n" for turn in turns))
    for delay_s in (0.0, 0.1, 0.4):
        command = owl.command("sessions", "import", "many.jsonl", "--replace")
        with subprocess.Popen(command, cwd=owl.work, env=owl.environment, stderr=subprocess.PIPE, text=True) as process:
            while not any(owl.root.rglob("*.sqlite3-wal")):  # until it has the conversations open
                time.sleep(0.02)
            time.sleep(delay_s)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        assert "Traceback" not in err
        assert json.loads(owl.bumble("sessions", "list", "--json").out)[0]["turn_count"] in {1, 2000}


@pytest.mark.parametrize(
    "name", ["", "a\nb", "\x1b]0;owned\x07", "x" * 100_000], ids=["none", "lines", "title", "long"]
)
def test_an_imported_session_has_a_name_that_can_be_typed(owl: Installed, name: str) -> None:
    line = json.loads(owl.bumble("run", "--json", "say hi").out)
    owl.work.joinpath("odd.jsonl").write_text(json.dumps({**line, "session_id": name}))
    refused = owl.bumble("sessions", "import", "odd.jsonl")
    assert refused.status == 1
    assert "1 to 200 printable characters" in refused.err
    assert len(refused.err) < 300
    assert owl.bumble("sessions", "import", "odd.jsonl", "--as", name).status == 2
    assert owl.bumble("sessions", "import", "odd.jsonl", "--as", "fine").out == "Imported fine, 1 turns.\n"


def test_verdicts_say_why_each_turn_ended(owl: Installed) -> None:
    owl.bumble("run", "--session", "v", "--gate", "off", "say It is noon.")
    owl.bumble("run", "--session", "v", "busy")
    shown = owl.bumble("sessions", "show", "v", "--verdicts")
    assert "  = may end after a reply in words, says the kernel: the gate is off" in shown.out
    assert "  = it failed: " in shown.out
    assert "the gate is off" not in owl.bumble("sessions", "show", "v").out
