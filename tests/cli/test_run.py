"""`bumble run`, as processes: what goes to which stream, pipes, sessions, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest

from bumble_core import Turn
from tests.cli.talker import OWL_ALONE, configure, with_owl
from tests.installed import Installed


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


def started(installed: Installed, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    environment = {**installed.environment, **variables}
    pipe = subprocess.PIPE
    command = installed.command(*arguments)
    return subprocess.Popen(
        command, cwd=installed.work, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


@pytest.fixture
def working(owl: Installed) -> Iterator[subprocess.Popen[str]]:
    """A run in the session `s` whose tool is at work."""
    with started(owl, "run", "--session", "s", "hang") as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("· hang_owl")
        yield process
        process.kill()


def test_only_the_answer_goes_to_standard_output(owl: Installed) -> None:
    ended = owl.bumble("run", "say It is noon.")
    assert (ended.status, ended.out, ended.err) == (0, "It is noon.\n", "")


def test_tools_at_work_are_told_on_standard_error(owl: Installed) -> None:
    loud, quiet = owl.bumble("run", "note"), owl.bumble("run", "--quiet", "note")
    assert loud.err == '· note_owl text="Uhu!"\n'
    assert (loud.status, quiet.status, quiet.err) == (0, 0, "")


def test_a_tool_that_needs_approval_is_refused_where_nobody_can_be_asked(owl: Installed) -> None:
    ended = owl.bumble("run", "ask")
    assert "· ask_owl was refused: nobody could be asked" in ended.err


def test_json_is_the_turn(owl: Installed) -> None:
    ended = owl.bumble("run", "--json", "--session", "s", "say hello")
    turn = Turn.model_validate_json(ended.out)
    assert (turn.text, turn.session_id, turn.status) == ("hello", "s", "done")


LOUD = """
import os, subprocess
from bumble_core import hookimpl

class Loud:
    def notify(self, event):
        print("printed")
        os.write(1, b"written")
        subprocess.run(["echo", "echoed"])

class Plugin:
    def __init__(self, config): ...
    @hookimpl
    def bumble_observers(self):
        return [Loud()]
"""


@pytest.mark.parametrize("arguments", [("run",), ("run", "--json")], ids=["text", "json"])
def test_what_plugins_print_is_not_part_of_the_answer(owl: Installed, arguments: tuple[str, ...]) -> None:
    owl.add("loud", "1", {"bumble_core.plugins": {"loud": "loud:Plugin"}}, loud=LOUD)
    ended = owl.bumble(*arguments, "say noon")
    answer = json.loads(ended.out)["messages"][-1]["parts"][0]["text"] if "--json" in arguments else ended.out.strip()
    assert (ended.status, answer) == (0, "noon")
    assert all(noise in ended.err for noise in ("printed", "written", "echoed"))


def test_json_of_a_failed_turn_says_so_in_the_turn_and_in_the_status(owl: Installed) -> None:
    ended = owl.bumble("run", "--json", "busy")
    assert ended.status == 1
    assert json.loads(ended.out)["status"] == "failed"


@pytest.mark.parametrize("text", ["busy", "say \\x00"], ids=["a-server", "fine"])
def test_the_status_tells_whether_the_turn_was_done(owl: Installed, text: str) -> None:
    ended = owl.bumble("run", text)
    assert (ended.status, "Error: the server is too busy" in ended.err) == ((1, True) if text == "busy" else (0, False))
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "piped", "heard"),
    [
        (("tell me",), "", "tell me"),
        ((), "from the pipe\n", "from the pipe"),
        (("-",), "from the pipe\n", "from the pipe"),
        (("what is this?",), "a\n```\nb\n", "what is this?\n\n````\na\n```\nb\n````"),
        (("what is this?",), "\ufeffgr\u00fc\u00df dich", "what is this?\n\n```\ngr\u00fc\u00df dich\n```"),
    ],
    ids=["argument", "piped", "dash", "both", "byte-order-mark"],
)
def test_the_message_is_the_argument_and_what_is_piped(
    owl: Installed, arguments: tuple[str, ...], piped: str, heard: str
) -> None:
    turn = Turn.model_validate_json(owl.bumble("run", "--json", *arguments, input=piped).out)
    assert turn.messages[0].text == heard


@pytest.mark.parametrize(
    ("arguments", "piped", "problem"),
    [
        ((), "", "there is nothing to answer"),
        ((" ",), "\n \n", "there is nothing to answer"),
        (("hi", "--session", "s", "--continue"), "", "`--session` and `--continue` exclude each other"),
        (("hi", "--session", "a\nb"), "", "printable characters"),
        (("hi", "--model", ":x"), "", "expected `provider:model`"),
    ],
    ids=["nothing", "blanks", "two-sessions", "session-name", "model-name"],
)
def test_wrong_usage_is_said_and_nothing_is_tried(
    owl: Installed, arguments: tuple[str, ...], piped: str, problem: str
) -> None:
    ended = owl.bumble("run", *arguments, input=piped)
    assert (ended.status, ended.out, problem in ended.err) == (2, "", True)


def test_each_run_is_a_session_of_its_own_unless_it_goes_on_with_one(owl: Installed) -> None:
    runs = [("--session", "s"), ("--session", "s"), (), ("--continue",), ("--session", "s")]
    said = [owl.bumble("run", *options, "count").out.strip() for options in runs]
    assert said == [f"{count} messages of yours" for count in (1, 2, 1, 2, 3)]


def test_going_on_without_a_session_is_an_error(owl: Installed) -> None:
    ended = owl.bumble("run", "--continue", "hi")
    assert (ended.status, ended.err) == (1, "Error: there is no session to go on with yet; leave out --continue\n")


def test_the_models_are_asked_in_the_order_given(owl: Installed) -> None:
    ended = owl.bumble("run", "--model", "nobody:x", "-m", "owl:large", "hi")
    assert ended.out.startswith("large heard: hi")
    assert "· nobody:x failed" in ended.err


def test_the_first_model_found_is_taken_and_named(owl: Installed) -> None:
    ended = with_owl(owl, OWL_ALONE).bumble("run", "hi")
    assert ended.out.startswith("wise heard: hi")
    assert "· using owl:wise, the first model found: none is configured" in ended.err


@pytest.mark.parametrize("disabled", ["openai, ollama, local", "openai, ollama"], ids=["no-provider", "not-fetched"])
def test_without_any_model_three_lines_say_how_to_get_one(installed: Installed, disabled: str) -> None:
    configure(installed, f"plugins: {{disabled: [{disabled}]}}\n")
    ended = installed.bumble("run", "hi")
    key, ollama, local = ended.err.partition("Error:")[2].splitlines()[2:-1]
    assert ended.status == 1
    assert ("OPENAI_API_KEY" in key, "Ollama" in ollama, "pull smollm2" in local) == (True, True, True)


def test_ctrl_c_cancels_the_turn_and_the_session_goes_on(owl: Installed, working: subprocess.Popen[str]) -> None:
    before = time.monotonic()
    working.send_signal(signal.SIGINT)
    _, err = working.communicate(timeout=10)
    assert (working.returncode, err.splitlines()[-1]) == (130, "Cancelled.")
    assert time.monotonic() - before < 3
    assert owl.bumble("run", "--session", "s", "count").out == "2 messages of yours\n"


def test_a_killed_turn_is_shown_as_interrupted_and_the_session_goes_on(
    owl: Installed, working: subprocess.Popen[str]
) -> None:
    working.kill()
    working.wait()
    shown = owl.bumble("sessions", "show", "s")
    assert "(interrupted: the process that ran this turn ended" in shown.out
    assert owl.bumble("run", "--session", "s", "count").out == "2 messages of yours\n"


def test_a_reader_that_leaves_early_is_no_traceback(owl: Installed) -> None:
    with started(owl, "run", "say " + "line\\n" * 20_000) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
    assert process.returncode == 1
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_a_full_disk_is_an_error_without_a_traceback(owl: Installed) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        command = owl.command("run", "say hello")
        ended = subprocess.run(
            command, env=owl.environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr


def test_the_gate_is_set_for_one_call(owl: Installed) -> None:
    told = owl.bumble("run", "--json", "--gate", "off", "say It is noon.")
    (verdict,) = json.loads(told.out)["verdicts"]
    assert (verdict["decided_by"], verdict["reason"]) == ("kernel", "the gate is off")
