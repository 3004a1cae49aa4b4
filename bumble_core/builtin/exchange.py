"""Exchange two files in one step, where the system can. Loaded when a document is first written over."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_HERE = -100  # AT_FDCWD of Linux
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_library = ctypes.CDLL(None, use_errno=True) if sys.platform in {"linux", "darwin"} else None


def exchange(source: Path, target: Path) -> bool:
    """Exchange two files; False where the system or the file system cannot.

    Raises:
        OSError: one of them is not there, or the disk refuses.
    """
    first, second = os.fsencode(source), os.fsencode(target)
    if _library is not None and hasattr(_library, "renameat2"):
        failed = _library.renameat2(_HERE, first, _HERE, second, _EXCHANGE)
    elif _library is not None and hasattr(_library, "renamex_np"):
        failed = _library.renamex_np(first, second, _EXCHANGE)
    else:
        return False
    if not failed:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(target))
