"""The tool that runs one command and says how it ended."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bumble_core import ToolError, ToolResult

from .output import Output
from .processes import Processes

_SHELL = "/bin/sh"
_PIPE_BYTES = 1 << 20  # as much as Linux gives anybody; a flood then takes few reads
_MOST_LAST_READS = 64  # of what is still in the pipe when the program has ended
_GRACE_S = 2.0  # to clean up, for a command that took too long
_SHORT_GRACE_S = 0.2  # for one that was cancelled, and for what a command left running

Command = Annotated[
    list[str] | str, Field(description="Program and arguments as a list, or one line for the shell /bin/sh.")
]


class Shell:
    """Runs commands in one workspace folder."""

    def __init__(
        self,
        root: Path,
        environment: Callable[[], Mapping[str, str]],
        *,
        timeout_s: float,
        max_timeout_s: float,
        max_output_bytes: int,
    ) -> None:
        self._root = Path(os.path.abspath(root.expanduser()))  # noqa: PTH100 - `resolve` would follow links now
        self._environment = environment
        self._timeout_s, self._max_timeout_s = timeout_s, max_timeout_s
        self._max_output_bytes = max_output_bytes

    async def run_command(
        self,
        command: Command,
        folder: Annotated[str, Field(description="Where it runs, relative to the workspace.")] = ".",
        timeout_s: Annotated[float | None, Field(description="Longest time in seconds.", gt=0)] = None,
    ) -> ToolResult:
        """Run a command to its end. It gets no input, and nothing that it starts outlives it."""
        arguments = _arguments(command)
        place = await asyncio.to_thread(self._folder, folder)
        longest = min(timeout_s or self._timeout_s, self._max_timeout_s)
        output = Output(self._max_output_bytes)
        reader, writer = os.pipe()
        try:
            try:
                processes = _started(arguments, place, self._environment(), writer)
            finally:
                os.close(writer)
            status = await _watched(processes, reader, output, longest)
        finally:
            os.close(reader)
        return _result(status, output, longest)

    def _folder(self, folder: str) -> Path:
        """Return the real folder that is meant.

        Raises:
            ToolError: it leads out of the workspace, or there is none.
        """
        try:
            root = self._root.resolve(strict=True)
            place = Path(os.path.realpath(root / folder, strict=True))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else "this is not a path"
            raise self._refusal(folder, reason[:1].lower() + reason[1:]) from error
        if not place.is_relative_to(root):
            raise self._refusal(folder, "this leads out of the workspace")
        if not place.is_dir():
            raise self._refusal(folder, "this is not a folder")
        return place

    def _refusal(self, folder: str, reason: str) -> ToolError:
        return ToolError(f"folder {folder[:200]!r}: {reason}. The workspace is `{self._root}`; nothing was run")


def _arguments(command: list[str] | str) -> list[str]:
    words = [_SHELL, "-c", command] if isinstance(command, str) else command
    if not words or not words[0] or (isinstance(command, str) and not command.strip()):
        raise ToolError("`command` is empty; nothing was run")
    if any("\x00" in word for word in words):
        raise ToolError("`command` holds a null character; nothing was run")
    return words


def _started(arguments: list[str], folder: Path, environment: Mapping[str, str], output: int) -> Processes:
    try:
        return Processes(arguments, folder, environment, output)
    except (OSError, UnicodeError) as error:
        reason = "no such program" if isinstance(error, FileNotFoundError) else str(error)
        hint = "; a line for the shell is given as text, not as a list" if len(arguments) == 1 else ""
        raise ToolError(f"{arguments[0][:200]!r} cannot be run: {reason}{hint}") from error


async def _watched(processes: Processes, reader: int, output: Output, longest_s: float) -> int | None:
    """Take the output until the program has ended, then end what is left of it; None when it took too long."""
    loop = asyncio.get_running_loop()
    os.set_blocking(reader, False)
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def take() -> bool:
        with suppress(BlockingIOError):
            if data := os.read(reader, _PIPE_BYTES):
                output.add(data)
                return True
            loop.remove_reader(reader)
        return False

    loop.add_reader(reader, take)
    try:
        status = await _status(processes, longest_s)
    finally:
        loop.remove_reader(reader)
    for _ in range(_MOST_LAST_READS):
        if not take():
            break
    return status


async def _status(processes: Processes, longest_s: float) -> int | None:
    """Return how the program ended, with all of it ended; None when it took too long."""
    try:
        async with asyncio.timeout(longest_s):
            await processes.ended()
        return await processes.end(_SHORT_GRACE_S)
    except TimeoutError:
        await processes.end(_GRACE_S)
        return None
    except asyncio.CancelledError:
        await processes.end(_SHORT_GRACE_S)
        raise
    finally:
        processes.kill()


def _result(status: int | None, output: Output, longest_s: float) -> ToolResult:
    if status is None:
        outcome = f"not done within {longest_s:g} s: ended, with all that it had started"
    elif status < 0:
        outcome = f"ended by {_signal_name(-status)}"
    else:
        outcome = f"exit status {status}"
    text = output.text
    content = f"[{outcome}]\n{text}" if text else f"[{outcome}; no output]"
    result = ToolResult(call_id="", name="", content=content)
    return result if status == 0 else result.model_copy(update={"status": "timeout" if status is None else "error"})


def _signal_name(number: int) -> str:
    with suppress(ValueError):
        return f"signal {number} ({signal.Signals(number).name})"
    return f"signal {number}"
