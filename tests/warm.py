"""Begin `bumble` in a process of its own that has imported everything before it began.

A process that starts takes half a second to import, one that is forked from a warm process nothing, and it differs in
nothing else: it has its own working directory, environment, streams, path and exit status. Run as a script, this module
is the warm process; `WarmProcess` is the handle on it.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parent.parent
_OWN_PATHS = [str(CHECKOUT), str(CHECKOUT / "plugins")]
_COMMANDS = [f"bumble_core.cli.{name}" for name in ("frame", "run", "chat", "jobs", "sessions")]
_PLUGINS = ["bumble_openai.endpoint", "bumble_ollama.endpoint", "bumble_models.tools", "bumble_compactor.summarise"]
_LIBRARIES = ["anyio._backends._asyncio", "httpcore", "httpx", "jsonschema_rs", "rich.table", "yaml"]
_IMPORTED = [*_COMMANDS, *_PLUGINS, *_LIBRARIES, "bumble_core.assembly", "bumble_core.jobs.schedule"]


class WarmProcess:
    """The warm process, started at the first use and ended with this one."""

    def __init__(self) -> None:
        self._starting = threading.Lock()  # two threads that ask first start one process
        self._door: socket.socket | None = None

    def run(
        self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], given: bytes, timeout_s: float
    ) -> tuple[int, bytes, bytes]:
        """Run `python -m bumble_core` to its end; return its exit status and what it printed.

        Raises:
            TimeoutError: it took longer, and was killed.
        """
        ours, theirs = socket.socketpair()
        (stdin, feed), (printed, out), (told, err) = os.pipe(), os.pipe(), os.pipe()
        with theirs:
            socket.send_fds(self._opened(), [b"."], [stdin, out, err, theirs.fileno()])
        for handle in (stdin, out, err):
            os.close(handle)
        with ours, open(printed, "rb") as output, open(told, "rb") as errors:  # noqa: PTH123 - handles, not paths
            kept: dict[str, bytes] = {}
            readers = [
                threading.Thread(target=lambda: kept.update(output=output.read())),
                threading.Thread(target=lambda: kept.update(errors=errors.read())),
            ]
            for reader in readers:
                reader.start()
            asked = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment)}
            ours.sendall(json.dumps(asked).encode() + b"\n")
            with contextlib.suppress(BrokenPipeError), open(feed, "wb") as stream:  # noqa: PTH123
                stream.write(given)
            try:
                status = _ended(ours, timeout_s)
            finally:
                for reader in readers:
                    reader.join()
        return status, kept["output"], kept["errors"]

    def _opened(self) -> socket.socket:
        with self._starting:
            if self._door is None:
                self._door, theirs = socket.socketpair()
                own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_"))}
                own |= {"PYTHONPATH": os.pathsep.join(_OWN_PATHS), "LANG": "C.UTF-8"}
                command = [sys.executable, __file__, str(theirs.fileno())]
                with theirs:
                    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=own)
                atexit.register(_close, self._door, process)
            return self._door


def _close(door: socket.socket, process: subprocess.Popen[bytes]) -> None:
    door.close()
    process.wait()


def _ended(ours: socket.socket, timeout_s: float) -> int:
    """Return the status of the process once it has ended."""
    with ours.makefile("r", encoding="ascii") as lines:
        process = int(lines.readline())
        ours.settimeout(timeout_s)
        try:
            return int(lines.readline())
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise


def _serve(door: socket.socket, paths: list[str]) -> list[str] | None:
    """Fork a process for each that is asked for, and return in it, with its arguments; None: nobody asks any more."""
    while True:
        message, handles, _, _ = socket.recv_fds(door, 1, 4)
        if not message:
            return None
        if os.fork():
            for handle in handles:
                os.close(handle)
            continue
        door.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        *streams, reply = handles
        with socket.socket(fileno=reply) as asker, asker.makefile("rb") as lines:
            asked: dict[str, Any] = json.loads(lines.readline())
            if process := os.fork():
                for handle in streams:
                    os.close(handle)
                asker.sendall(f"{process}\n".encode())
                _, status = os.waitpid(process, 0)
                with contextlib.suppress(OSError):  # whoever asked has gone
                    asker.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
                os._exit(0)
        for number, (name, handle) in enumerate(zip(("stdin", "stdout", "stderr"), streams, strict=True)):
            os.dup2(handle, number)
            os.close(handle)
            before = getattr(sys, name)  # what it was at the start decides, among others, whether it can be sought
            buffering = 1 if name == "stderr" else -1
            made = open(number, before.mode, buffering, before.encoding, before.errors, closefd=False)  # noqa: SIM115
            setattr(sys, name, made)
            setattr(sys, f"__{name}__", made)
        _become(asked["cwd"], asked["environment"], paths)
        return list(asked["arguments"])


def _become(cwd: str, environment: dict[str, str], paths: list[str]) -> None:
    """Be as a process that was started there with this environment."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    wanted = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [cwd, *wanted, *paths]
    importlib.invalidate_caches()
    random.seed()


def main() -> None:
    """Import, then serve; what is forked goes on as `bumble`."""
    del sys.path[0]  # the folder of this script
    paths = [path for path in sys.path if path not in _OWN_PATHS]
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes that wait for others
    arguments = _serve(socket.socket(fileno=int(sys.argv[1])), paths)
    if arguments is not None:
        sys.argv[1:] = arguments
        runpy.run_module("bumble_core", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
