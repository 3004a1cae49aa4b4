"""What a command sees of the environment: what is listed, and never a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_USUAL = ("PATH", "HOME", "USER", "LANG", "LC_*", "TERM", "TZ", "TMPDIR")
_SECRET = re.compile(
    r"(^|_)(API)?(KEYS?|TOKENS?|PASS|PASSWORDS?|PASSWD|PASSPHRASE|PWD|CREDENTIALS?|COOKIES?)($|_)|SECRET", re.IGNORECASE
)


def scrubbed(more: Sequence[str]) -> dict[str, str]:
    """Return the variables of this process that a command may see: the usual ones and those that `more` names."""
    listed = (*_USUAL, *more)
    return {
        name: value
        for name, value in os.environ.items()
        if any(fnmatchcase(name, pattern) for pattern in listed) and not sounds_secret(name)
    }


def sounds_secret(name: str) -> bool:
    """Tell whether a variable of this name holds something that a command must not see."""
    return bool(_SECRET.search(name))
