"""The surfaces that come with the kernel: nobody, a text stream, a terminal."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import TextIO

from ..printable import encodable, printable, rows
from ..types.inference import Delta
from ..types.surfaces import Answer, Delivery, Question
from ..types.turn import TurnContext

_NOT_ANSWERED = Answer(answered=False)
_WITHDRAWN = "[withdrawn]"
_MOST_INPUT = 4096  # bytes; a terminal hands over at most one line of this length


class NoSurface:
    """Nobody reads along: the caller takes `Turn.text`, which therefore counts as delivered."""

    name = "none"
    takes_drafts = True

    async def draft(self, delta: Delta, turn: TurnContext) -> None:
        return

    async def withdraw(self, turn: TurnContext) -> None:
        return

    async def deliver(self, text: str, turn: TurnContext) -> Delivery:
        return Delivery(delivered=True)

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        return _NOT_ANSWERED


class PlainSurface:
    """Whole messages to a text stream, a blank line between two of one turn; nobody can be asked.

    The text is written as it is, except to a terminal. Without `stream` it is standard output as it is then.
    """

    name = "plain"
    takes_drafts = False

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._turn_id = ""

    async def draft(self, delta: Delta, turn: TurnContext) -> None:
        return

    async def withdraw(self, turn: TurnContext) -> None:
        return

    async def deliver(self, text: str, turn: TurnContext) -> Delivery:
        gap = "\n" if self._turn_id == turn.input.id else ""
        delivery = await asyncio.to_thread(_write, self._stream or sys.stdout, f"{gap}{text}\n")
        if delivery.delivered:
            self._turn_id = turn.input.id
        return delivery

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        return _NOT_ANSWERED


class TerminalSurface:
    """A person at a terminal: drafts as they come, questions where they stand.

    Without streams it is standard input and output as they are then. Pieces are written on the event loop: a
    terminal takes them faster than a thread could be told to.
    """

    name = "terminal"
    takes_drafts = True

    def __init__(self, input: TextIO | None = None, output: TextIO | None = None) -> None:
        self._input = input
        self._output = output
        self._turn_id = ""
        self._delivered = 0
        self._drafted = ""
        self._is_broken_up = False

    async def draft(self, delta: Delta, turn: TurnContext) -> None:
        self._attend(turn)
        text = delta.text if self._drafted else delta.text.lstrip()
        if text and _write(self._out, self._gap() + text).delivered:
            self._drafted += text

    async def withdraw(self, turn: TurnContext) -> None:
        """Erase the draft where its place on the screen is certain, else mark it."""
        if not self._drafted or turn.input.id != self._turn_id:
            return
        height = None if self._is_broken_up else _rows_to_erase(self._drafted, self._out)
        if height is None:
            self.break_line()
            _write(self._out, f"{_WITHDRAWN}\n")
        else:
            _obey(self._out, "\r" + f"\x1b[{height - 1}A" * (height > 1) + "\x1b[J")
        self._drafted, self._is_broken_up = "", False

    async def deliver(self, text: str, turn: TurnContext) -> Delivery:
        """Show what the draft has not shown yet."""
        self._attend(turn)
        text = text.strip()
        shown = self._drafted.rstrip()
        if shown and (text == shown or (text.startswith(self._drafted) and not self._is_broken_up)):
            rest = text[len(self._drafted) :]
        else:
            await self.withdraw(turn)
            rest = self._gap() + text
        is_ended = not rest and (self._is_broken_up or self._drafted.endswith("\n"))
        delivery = _write(self._out, rest if is_ended else f"{rest}\n")
        self._drafted, self._is_broken_up = "", False
        self._delivered += delivery.delivered
        return delivery

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        """Ask until one of the choices is given; what was typed before the question does not answer it."""
        source = self._input or sys.stdin
        if source.closed or not source.isatty():
            return _NOT_ANSWERED
        self.break_line()
        termios.tcflush(source.fileno(), termios.TCIFLUSH)
        choices = f" [{'/'.join(question.choices)}]" if question.choices else ""
        while _write(self._out, f"{question.text}{choices} ").delivered:
            line = await _read_line(source)
            if line is None:
                break
            if (text := _chosen(line.strip(), question.choices)) is not None:
                return Answer(answered=True, text=text)
        _write(self._out, "\n")
        return _NOT_ANSWERED

    def break_line(self) -> None:
        """End the line that a draft is being written on, so that something else may be shown."""
        if self._drafted and not self._is_broken_up:
            self._is_broken_up = True
            if not self._drafted.endswith("\n"):
                _write(self._out, "\n")

    @property
    def _out(self) -> TextIO:
        return self._output or sys.stdout

    def _attend(self, turn: TurnContext) -> None:
        """Turn to another turn's text; what was drafted of the former one stays as it stands."""
        if turn.input.id != self._turn_id:
            self.break_line()
            self._turn_id, self._delivered, self._drafted, self._is_broken_up = turn.input.id, 0, "", False

    def _gap(self) -> str:
        return "\n" if self._delivered and not self._drafted else ""


def _rows_to_erase(text: str, stream: TextIO) -> int | None:
    """Return how many rows to clear, counted upwards from the cursor's."""
    if stream.closed or not stream.isatty() or os.environ.get("TERM", "dumb") in {"dumb", ""} or "\t" in text:
        return None
    size = os.get_terminal_size(stream.fileno())
    height = rows(printable(text), size.columns)
    return height if height is not None and height < size.lines else None


def _chosen(text: str, choices: tuple[str, ...]) -> str | None:
    """Return the one choice that begins with `text`, the text itself where it is free, None where it does not fit."""
    if not choices:
        return text
    exact = [choice for choice in choices if choice.casefold() == text.casefold()]
    fitting = exact or [choice for choice in choices if text and choice.casefold().startswith(text.casefold())]
    return fitting[0] if len(fitting) == 1 else None


async def _read_line(source: TextIO) -> str | None:
    """Wait for a line of the terminal without holding up the event loop; None at the end of the input."""
    loop = asyncio.get_running_loop()
    descriptor = source.fileno()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
    try:
        data = os.read(descriptor, _MOST_INPUT)
    except OSError:
        return None
    return data.decode(source.encoding or "utf-8", "replace") if data else None


def _write(stream: TextIO, text: str) -> Delivery:
    """Write model text, made safe where a terminal would obey it."""
    try:
        return _obey(stream, printable(text) if stream.isatty() else text)
    except ValueError:
        return Delivery(delivered=False, problem="the output is closed")


def _obey(stream: TextIO, text: str) -> Delivery:
    try:
        stream.write(encodable(text, stream))
        stream.flush()
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else "the output is closed"
        return Delivery(delivered=False, problem=problem)
    return Delivery(delivered=True)
