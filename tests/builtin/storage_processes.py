"""Start other processes on a home, and kill them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def start(work: str, home: Path, *arguments: str) -> subprocess.Popen[str]:
    child = Path(__file__).with_name("storage_child.py")
    return subprocess.Popen(
        [sys.executable, str(child), work, str(home), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


@contextmanager
def running(work: str, home: Path, *arguments: str) -> Generator[subprocess.Popen[str], None, None]:
    """Give a process that has reported once; it is killed with SIGKILL at the end."""
    process = start(work, home, *arguments)
    try:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.communicate(timeout=100)
        assert process.returncode == 0
