"""A person's terminal: what `bumble` writes to it is rendered, so that tests read what the person would see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pexpect
import pyte

from tests.installed import Installed

_LINES, _COLUMNS = 32, 80
_LONGEST_S = 20.0
_LOOKS_S = 0.05
CTRL_C, CTRL_D = "\x03", "\x04"


class Screen:
    """`bumble` on a terminal of 80 columns, as `Screen(installed, {}, "chat")`."""

    def __init__(self, installed: Installed, variables: Mapping[str, str], *arguments: str) -> None:
        python, *rest = installed.command(*arguments)
        environment = {**installed.environment, "TERM": "xterm", **variables}
        self._process = pexpect.spawn(
            python, rest, cwd=str(installed.work), env=environment, dimensions=(_LINES, _COLUMNS)
        )
        self._screen = pyte.Screen(_COLUMNS, _LINES)
        self._stream = pyte.ByteStream(self._screen)
        self._typed_at = ""

    @property
    def text(self) -> str:
        """The rows that are not empty at the end, without the blanks at their ends."""
        return "\n".join(row.rstrip() for row in self._screen.display).rstrip()

    def types(self, text: str, end: str = "\r") -> None:
        self._typed_at = self.text
        self._process.send(text + end)

    async def shows(self, ending: str) -> str:
        """Wait until the screen ends with `ending`, after what was typed last, and return what it shows."""
        return await self._until(lambda: self.text != self._typed_at and self.text.endswith(ending), ending)

    async def shows_line(self, part: str) -> str:
        """Wait until there is a line with `part` in it, and return the line."""
        text = await self._until(lambda: part in self.text, part)
        return next(line for line in text.splitlines() if part in line)

    async def left_with(self) -> int | None:
        """Wait until the program has ended and return its exit status."""
        await asyncio.to_thread(self._process.expect, pexpect.EOF, timeout=_LONGEST_S)
        self.close()
        status: int | None = self._process.exitstatus
        return status

    def close(self) -> None:
        self._process.close(force=True)

    async def _until(self, holds: Callable[[], bool], wanted: str) -> str:
        try:
            async with asyncio.timeout(_LONGEST_S):
                while not holds():
                    self._stream.feed(await asyncio.to_thread(self._written))
        except (TimeoutError, pexpect.EOF) as error:
            raise AssertionError(f"the screen does not show {wanted!r} there:\n{self.text}") from error
        return self.text

    def _written(self) -> bytes:
        try:
            return bytes(self._process.read_nonblocking(4096, _LOOKS_S))
        except pexpect.TIMEOUT:
            return b""
