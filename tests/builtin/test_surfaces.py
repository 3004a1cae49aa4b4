"""The kernel's own surfaces, on text streams and on a pseudo-terminal."""

from __future__ import annotations

import asyncio
import fcntl
import io
import os
import struct
import termios
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import pytest

from bumble_core import user
from bumble_core.builtin.surfaces import NoSurface, PlainSurface, TerminalSurface
from bumble_core.types.inference import Delta, ModelRef, Profile
from bumble_core.types.surfaces import Answer, Question
from bumble_core.types.turn import Limits, Route, TurnContext, TurnInput

MODEL = ModelRef(model="m")
_END = "\x1f"  # no surface writes it


def turn(id: str = "turn_1") -> TurnContext:
    input = TurnInput(id=id, session_id="s", message=user("hi"), models=(MODEL,), started=datetime.now(UTC))
    profile = Profile(name="reflex", max_tokens=100)
    route = Route(profile=profile, models=(MODEL,), decided_by="forced", reason="test")
    return TurnContext.begin(input, route, Limits(max_steps=1, max_pushbacks=0, max_auxiliary_calls=0, deadline_s=1))


@dataclass
class Terminal:
    """A pseudo-terminal of 20 columns and 6 rows; `surface` is at its far end."""

    keyboard: int
    stream: TextIO
    surface: TerminalSurface

    def type(self, text: str) -> None:
        os.write(self.keyboard, text.encode())

    def shown(self) -> str:
        """Return what was written since the last time, as the terminal got it, with plain line ends."""
        self.stream.write(_END)
        self.stream.flush()
        shown = b""
        while not shown.endswith(_END.encode()):
            shown += os.read(self.keyboard, 1000)
        return shown.decode().removesuffix(_END).replace("\r\n", "\n")

    async def ask(self, *choices: str) -> tuple[asyncio.Task[Answer], str]:
        """Have a question asked; return who waits for the answer, and the question as it was shown."""
        asking = asyncio.create_task(self.surface.ask(Question(text="Run it?", choices=choices), turn()))
        shown = await asyncio.wait_for(asyncio.to_thread(os.read, self.keyboard, 1000), 5)
        return asking, shown.decode()

    async def draft(self, *pieces: str) -> None:
        for piece in pieces:
            await self.surface.draft(Delta(text=piece), turn())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 20, 0, 0))
    attributes = termios.tcgetattr(slave)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    with os.fdopen(slave, "r+b", buffering=0) as raw, io.TextIOWrapper(raw, encoding="utf-8") as stream:
        yield Terminal(master, stream, TerminalSurface(stream, stream))
    os.close(master)


async def test_nobody_is_a_surface_that_delivers_and_cannot_be_asked() -> None:
    surface = NoSurface()
    assert (await surface.deliver("hello", turn())).delivered
    assert await surface.ask(Question(text="Run it?"), turn()) == Answer(answered=False)


async def test_plain_writes_whole_messages_with_a_blank_line_between_two_of_one_turn() -> None:
    stream = io.StringIO()
    surface = PlainSurface(stream)
    for text, id in (("one", "turn_1"), ("two", "turn_1"), ("three", "turn_2")):
        await surface.deliver(text, turn(id))
    assert stream.getvalue() == "one\n\ntwo\nthree\n"


async def test_plain_keeps_what_a_program_may_want_to_read_as_it_is() -> None:
    stream = io.StringIO()
    await PlainSurface(stream).deliver("a\x1b[31mred\x00", turn())
    assert stream.getvalue() == "a\x1b[31mred\x00\n"


async def test_plain_replaces_what_its_stream_cannot_encode() -> None:
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    assert (await PlainSurface(stream).deliver("gr\u00fc\ud83d", turn())).delivered
    assert buffer.getvalue() == b"gr??\n"


async def test_a_pipe_that_nobody_reads_is_a_failed_delivery() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    delivery = await PlainSurface(stream).deliver("hello", turn())
    with pytest.raises(BrokenPipeError):
        stream.close()
    assert (delivery.delivered, delivery.problem) == (False, "Broken pipe")


@pytest.mark.parametrize(
    "surface", [PlainSurface, lambda stream: TerminalSurface(stream, stream)], ids=["plain", "terminal"]
)
async def test_a_closed_stream_is_a_failed_delivery(surface: type[PlainSurface], tmp_path: Path) -> None:
    stream = tmp_path.joinpath("out").open("w")
    stream.close()
    delivery = await surface(stream).deliver("hello", turn())
    assert (delivery.delivered, delivery.problem) == (False, "the output is closed")


async def test_drafts_are_shown_as_they_come_and_not_again_when_delivered(terminal: Terminal) -> None:
    await terminal.draft("\n Hel", "lo ", "you")
    assert terminal.shown() == "Hello you"
    assert (await terminal.surface.deliver("Hello you", turn())).delivered
    assert terminal.shown() == "\n"


@pytest.mark.parametrize(
    ("pieces", "text", "shown"),
    [
        (("Hello",), "Hello, and more.", "Hello, and more.\n"),
        (("Hello\n\n",), "Hello", "Hello\n\n"),
        ((), "Nothing was drafted", "Nothing was drafted\n"),
        (("Wrong",), "Right", "Wrong\r\x1b[JRight\n"),
    ],
    ids=["the-rest", "drafted-with-line-ends", "no-draft", "another-text"],
)
async def test_delivering_shows_what_is_missing(
    terminal: Terminal, pieces: tuple[str, ...], text: str, shown: str
) -> None:
    await terminal.draft(*pieces)
    await terminal.surface.deliver(text, turn())
    assert terminal.shown() == shown


@pytest.mark.parametrize(
    ("text", "taken_back"),
    [
        ("short", "\r\x1b[J"),
        ("x" * 20, "\r\x1b[J"),
        ("x" * 21, "\r\x1b[1A\x1b[J"),
        ("one\ntwo\n", "\r\x1b[2A\x1b[J"),
        ("\n".join("abcdefgh"), "\n[withdrawn]\n"),
        ("\u6f22\u5b57", "\n[withdrawn]\n"),
        ("a\tb", "\n[withdrawn]\n"),
        ("a\u0301", "\n[withdrawn]\n"),
    ],
    ids=["a-line", "a-full-line", "two-rows", "lines", "higher-than-the-screen", "wide", "tab", "combining"],
)
async def test_a_withdrawn_draft_is_erased_where_that_is_certain_and_else_marked(
    terminal: Terminal, text: str, taken_back: str
) -> None:
    await terminal.draft(text)
    drafted = terminal.shown()
    await terminal.surface.withdraw(turn())
    assert (drafted, terminal.shown()) == (text, taken_back)


async def test_a_plain_terminal_is_sent_no_sequences(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    await terminal.draft("draft")
    await terminal.surface.withdraw(turn())
    assert terminal.shown() == "draft\n[withdrawn]\n"


async def test_a_draft_that_was_broken_up_stays_and_is_marked(terminal: Terminal) -> None:
    await terminal.draft("draft")
    terminal.surface.break_line()
    terminal.surface.break_line()
    await terminal.surface.withdraw(turn())
    assert terminal.shown() == "draft\n[withdrawn]\n"


async def test_a_second_message_of_a_turn_stands_apart(terminal: Terminal) -> None:
    await terminal.surface.deliver("one", turn())
    await terminal.draft("two")
    await terminal.surface.deliver("two", turn())
    await terminal.surface.deliver("three", turn("turn_2"))
    assert terminal.shown() == "one\n\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", "\u241b[2J\u241b]0;title\u2407"),
        ("\x9b31m\x7f", "\ufffd31m\u2421"),
        ("file\u202egnp.exe \u2066x\u2069", "file\ufffdgnp.exe \ufffdx\ufffd"),
        ("over\rwritten\b\v", "overwritten\u2408\u240b"),
        ("tab\tand\nline \U0001f41d \u05d0\u200f", "tab\tand\nline \U0001f41d \u05d0\u200f"),
    ],
    ids=["sequences", "eight-bit", "direction", "moves", "harmless"],
)
async def test_model_text_cannot_drive_the_terminal(terminal: Terminal, text: str, shown: str) -> None:
    await terminal.draft(*text)
    assert terminal.shown() == shown


@pytest.mark.parametrize(
    ("typed", "choices", "answer"),
    [
        ("yes\n", ("yes", "no"), "yes"),
        ("N\n", ("yes", "no"), "no"),
        ("what\n\nyes\n", ("yes", "no"), "yes"),
        ("any words \n", (), "any words"),
    ],
    ids=["whole", "first-letter", "asked-again", "free-text"],
)
async def test_a_question_is_asked_until_it_is_answered(
    terminal: Terminal, typed: str, choices: tuple[str, ...], answer: str
) -> None:
    asking, shown = await terminal.ask(*choices)
    terminal.type(typed)
    assert await asyncio.wait_for(asking, 5) == Answer(answered=True, text=answer)
    assert shown == ("Run it? [yes/no] " if choices else "Run it? ")


async def test_what_was_typed_before_the_question_does_not_answer_it(terminal: Terminal) -> None:
    terminal.type("yes\n")
    asking, _ = await terminal.ask("yes", "no")
    terminal.type("no\n")
    assert (await asyncio.wait_for(asking, 5)).text == "no"


async def test_the_end_of_the_input_answers_nothing(terminal: Terminal) -> None:
    asking, _ = await terminal.ask()
    terminal.type("\x04")
    assert await asyncio.wait_for(asking, 5) == Answer(answered=False)


async def test_a_question_can_be_given_up_and_leaves_the_next_line_alone(terminal: Terminal) -> None:
    asking, _ = await terminal.ask()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    terminal.type("next\n")
    assert os.read(terminal.stream.fileno(), 100) == b"next\n"


async def test_nobody_is_asked_where_input_is_not_a_terminal() -> None:
    surface = TerminalSurface(io.StringIO("yes\n"), io.StringIO())
    assert await surface.ask(Question(text="Run it?"), turn()) == Answer(answered=False)
