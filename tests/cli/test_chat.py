"""`bumble chat`: through a pipe, and on a pseudo-terminal as a person uses it."""

from __future__ import annotations

from collections.abc import Iterator

import pexpect
import pytest

from tests.cli.talker import with_owl
from tests.installed import Installed

CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


class Terminal:
    """A person at a terminal who types and waits for what is shown."""

    def __init__(self, installed: Installed, *arguments: str) -> None:
        python, *rest = installed.command(*arguments)
        environment = {**installed.environment, "TERM": "xterm", "NO_COLOR": "1"}
        self.process = pexpect.spawn(
            python, rest, cwd=str(installed.work), env=environment, encoding="utf-8", timeout=20, dimensions=(30, 100)
        )

    def types(self, text: str, end: str = "\r") -> None:
        self.process.send(text + end)

    def sees(self, text: str) -> str:
        """Wait until `text` is shown and return what was shown before it."""
        self.process.expect_exact(text)
        return str(self.process.before)

    def is_asked(self) -> str:
        """Wait for the prompt and return what was shown before it."""
        self.process.expect("\r\n(\x1b\\[\\?2004h)?> ")
        return str(self.process.before)

    def left_with(self) -> int | None:
        self.process.expect(pexpect.EOF)
        self.process.close()
        status: int | None = self.process.exitstatus
        return status


@pytest.fixture
def chat(owl: Installed) -> Iterator[Terminal]:
    terminal = Terminal(owl, "chat", "--session", "talk")
    assert "session talk; /help lists" in terminal.is_asked()
    yield terminal
    terminal.process.close(force=True)


def test_each_line_of_a_pipe_is_a_turn(owl: Installed) -> None:
    ended = owl.bumble("chat", input="say one\n\ncount\n")
    assert (ended.status, ended.out, ended.err) == (0, "one\n2 messages of yours\n", "")


def test_a_conversation_has_a_policy_of_its_own_for_the_gate(owl: Installed) -> None:
    assert owl.bumble("chat", "--session", "v", "--gate", "off", input="say one\n").out == "one\n"
    assert "the gate is off" in owl.bumble("sessions", "show", "v", "--verdicts").out


def test_a_pipe_with_a_failed_turn_goes_on_and_ends_with_status_1(owl: Installed) -> None:
    ended = owl.bumble("chat", input="busy\nsay two\n")
    assert (ended.status, ended.out) == (1, "two\n")
    assert "Error: the server is too busy" in ended.err


@pytest.mark.parametrize(
    ("typed", "heard"),
    [
        ("one\\\ntwo\n", "one\ntwo"),
        ('"""\none\n\ntwo\n"""\n', "one\n\ntwo"),
        ('"""one\ntwo"""\n', "one\ntwo"),
        ('"""one"""\n', "one"),
        ("one\\", "one"),
        ('"""\none', "one"),
        (" /etc/hosts\n", "/etc/hosts"),
    ],
    ids=["continued", "block", "marks-beside-text", "one-line-block", "continued-to-the-end", "open-block", "slash"],
)
def test_several_lines_can_be_one_message(owl: Installed, typed: str, heard: str) -> None:
    assert owl.bumble("chat", input=typed).out.startswith(f"wise heard: {heard}\n")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/modell x", "no command /modell; did you mean /model?"),
        ("/etc/hosts is odd", "Put a blank before it to send it to the agent."),
        ("/model olw:wise", "no provider `olw`; did you mean `owl:wise`?"),
        ("/model :x", "expected `provider:model`"),
    ],
    ids=["misspelt", "a-path", "provider", "model"],
)
def test_what_is_no_command_is_told_and_not_sent(owl: Installed, typed: str, told: str) -> None:
    ended = owl.bumble("chat", input=f"{typed}\ncount\n")
    assert told in ended.err
    assert ended.out == "1 messages of yours\n"


def test_a_chosen_model_stays_chosen_in_the_next_chat(owl: Installed) -> None:
    first = owl.bumble("chat", input="/model owl:large\nhi\n").out
    second = owl.bumble("chat", input="hi\n/model\n/model default\nhi\n").out
    assert first.startswith("In use from now on: owl:large\nNo provider lists `owl:large`.\nlarge heard: hi")
    assert second.startswith("large heard: hi")
    assert "In use: owl:large (chosen with /model)\nowl: owl:wise\n" in second
    assert "\nIn use: owl:wise\nwise heard: hi" in second


def test_new_begins_a_session_and_continue_goes_on_with_the_latest(owl: Installed) -> None:
    first = owl.bumble("chat", "--session", "old", input="count\n/new\ncount\n/session\n").out
    second = owl.bumble("chat", "--continue", input="count\n/quit\ncount\n").out
    assert first.startswith("1 messages of yours\n1 messages of yours\nsession_")
    assert ", 1 turns, in " in first
    assert second == "2 messages of yours\n"


def test_help_lists_every_command(owl: Installed) -> None:
    out = owl.bumble("chat", input="/help\n").out
    assert [line.split()[0] for line in out.splitlines() if line.startswith("/")] == [
        "/help", "/new", "/model", "/model", "/model", "/session", "/compact", "/quit"
    ]  # fmt: skip


def test_an_answer_streams_and_a_tool_is_told_in_a_line(chat: Terminal) -> None:
    chat.types("note")
    shown = chat.is_asked()
    assert '· note_owl text="Uhu!"\r\nwise heard: ' in shown
    assert "I note it. " in shown.split("\x1b[J")[0]


def test_ctrl_c_stops_the_turn_and_keeps_what_was_read(chat: Terminal) -> None:
    chat.types("slow")
    chat.sees("word2 ")
    chat.types(CTRL_C, end="")
    assert "[withdrawn]\r\nCancelled." in chat.is_asked()
    chat.types("count")
    chat.sees("1 messages of yours")  # the stopped turn left no answer, so the two are one


def test_ctrl_c_stops_a_tool(chat: Terminal) -> None:
    chat.types("hang")
    chat.sees("hang_owl")
    chat.types(CTRL_C, end="")
    assert "Cancelled." in chat.is_asked()


def test_ctrl_c_clears_the_line_and_twice_leaves(chat: Terminal) -> None:
    chat.types("half a line", end=CTRL_C)
    assert "Ctrl-C again or Ctrl-D leaves" in chat.is_asked()
    chat.types("say still here")
    chat.is_asked()
    chat.types(CTRL_C, end="")
    chat.is_asked()
    chat.types(CTRL_C, end="")
    assert chat.left_with() == 0


def test_ctrl_d_leaves(chat: Terminal) -> None:
    chat.types(CTRL_D, end="")
    assert chat.left_with() == 0


def test_a_call_that_needs_approval_is_asked_about(chat: Terminal) -> None:
    chat.types("ask")
    chat.sees('Run ask_owl(text="Uhu!")? [yes/no/always] ')
    chat.types("n")
    assert "· ask_owl was refused: the user refused this call" in chat.is_asked()
    chat.types("ask")
    chat.sees("[yes/no/always] ")
    chat.types("y")
    assert "refused" not in chat.is_asked()


def test_ctrl_c_at_a_question_stops_the_turn(chat: Terminal) -> None:
    chat.types("ask")
    chat.sees("[yes/no/always] ")
    chat.types(CTRL_C, end="")
    assert "Cancelled." in chat.is_asked()
    chat.types("say fine")
    chat.sees("fine\r\n")


def test_what_was_typed_is_offered_again_in_the_next_chat(owl: Installed, chat: Terminal) -> None:
    chat.types("say remembered")
    chat.is_asked()
    chat.types(CTRL_D, end="")
    chat.left_with()
    again = Terminal(owl, "chat")
    again.is_asked()
    again.types(UP)
    again.sees("\nremembered\r\n")
    again.process.close(force=True)


def test_a_model_cannot_drive_the_terminal(chat: Terminal) -> None:
    chat.types("say a\\x1b[2Jb\\u202ec")
    assert chat.is_asked().endswith("a\u241b[2Jb\ufffdc")
