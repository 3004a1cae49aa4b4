"""Open what is a file: a pipe that nobody writes to would hold up whoever opens it for ever."""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

_PIPE_WAIT_S = 5.0  # for whoever writes to a pipe to begin


def open_regular(path: str, flags: int) -> int:
    """Return a handle of a file; an `opener` for the built-in `open`. What is no file is refused, whatever it is.

    Raises:
        OSError: it is a pipe, a socket or a device that can be read without end.
    """
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind in {stat.S_IFREG, stat.S_IFDIR} or (kind == stat.S_IFCHR and flags & os.O_ACCMODE == os.O_WRONLY):
        return handle  # `open` itself says that a folder is one; what is kept may be sent to /dev/null
    os.close(handle)
    raise OSError(errno.EINVAL, "it is not a regular file", path)


def read_beginning(path: Path, most_bytes: int) -> bytes:
    """Return the first bytes of a file, or what is written into a pipe, as `<(…)` of a shell makes it.

    Raises:
        OSError: it cannot be read, or nobody writes to it within five seconds.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb", buffering=0) as file:  # noqa: PTH123 - a handle, not a path
        if stat.S_ISFIFO(os.fstat(handle).st_mode):
            waiting = select.poll()
            waiting.register(handle, select.POLLIN)
            if not waiting.poll(_PIPE_WAIT_S * 1000):
                raise OSError(errno.EINVAL, "it is a pipe that nobody writes to")
            os.set_blocking(handle, True)
        pieces: list[bytes] = []
        while most_bytes > 0 and (piece := file.read(most_bytes)):
            pieces.append(piece)
            most_bytes -= len(piece)
        return b"".join(pieces)
