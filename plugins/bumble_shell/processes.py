"""A program in a session of its own, and everything that it starts: they end together."""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_MARK = "BUMBLE_COMMAND_"  # begins a variable of each command: what left its session is found by that
_PROCESSES = Path("/proc")
_SHORTEST_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.03
_MOST_ROUNDS = 10  # of killing, for what is started while others are being killed
_REAPED_S = 0.5


class Processes:
    """One started program. It is not forgotten by the system before all of it has ended, so no signal can go astray.

    Raises:
        OSError: it could not be started.
    """

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], output: int) -> None:
        self._mark = f"{_MARK}{secrets.token_hex(16)}"
        self._is_over = False
        self._popen = subprocess.Popen(
            arguments,
            cwd=folder,
            env={**environment, **_marks_of_this_process(), self._mark: "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        atexit.register(self.kill)

    async def ended(self) -> None:
        """Wait until the program has ended; what it started may go on."""
        pause = _SHORTEST_PAUSE_S
        while not self._has_ended():
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)

    async def end(self, grace_s: float) -> int:
        """Ask all of it to end, kill what still runs after `grace_s`, and return the exit status, or less a signal.

        A cancelled call kills at once.
        """
        try:
            members = await self._living()
            if members or not self._has_ended():
                self._signal(signal.SIGTERM, members)
                with suppress(TimeoutError):
                    async with asyncio.timeout(grace_s):
                        await self._gone()
        finally:
            self.kill()
        return self._popen.returncode if self._popen.returncode is not None else -signal.SIGKILL

    def kill(self) -> None:
        """End all of it, now; once is enough."""
        if self._is_over:
            return
        atexit.unregister(self.kill)
        for _ in range(_MOST_ROUNDS):
            members = self._members()
            if not members and self._has_ended():
                break
            self._signal(signal.SIGKILL, members)
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(_REAPED_S)
        self._is_over = True

    async def _gone(self) -> None:
        pause = _SHORTEST_PAUSE_S
        while not self._has_ended() or await self._living():
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE_S)

    async def _living(self) -> list[int]:
        return await asyncio.to_thread(self._members)

    def _has_ended(self) -> bool:
        if self._popen.returncode is None and sys.platform == "linux":
            with suppress(ChildProcessError):
                return os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._popen.poll() is not None

    def _signal(self, number: int, members: Sequence[int]) -> None:
        if self._popen.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)
        for member in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member, number)

    def _members(self) -> list[int]:
        """Return what runs of this session or carries its mark; nothing where the system does not tell."""
        processes = _PROCESSES.iterdir() if _PROCESSES.is_dir() else ()
        return [int(each.name) for each in processes if each.name.isdecimal() and self._is_member(each)]

    def _is_member(self, process: Path) -> bool:
        try:
            state, _, _, session = process.joinpath("stat").read_bytes().rpartition(b")")[2].split()[:4]
            if state in {b"Z", b"X"}:
                return False
            return int(session) == self._popen.pid or self._mark.encode() in process.joinpath("environ").read_bytes()
        except (OSError, ValueError):
            return False


def _marks_of_this_process() -> dict[str, str]:
    """Return the marks of the commands that this process is itself a part of."""
    return {name: value for name, value in os.environ.items() if name.startswith(_MARK)}
