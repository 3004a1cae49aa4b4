"""Configuration: where it is found, how it is read and checked, where each value comes from, and what is trusted.

`read_settings` is the door for applications: one file, which is trusted because it is named. `resolve` is what the
command line uses: every place, the environment, the flags.
"""

from __future__ import annotations

from .locate import FILE_NAME, Located, Surroundings
from .origins import Origin
from .read import Configuration, Examined, examine, read_settings, resolve
from .trust import Decision, HeldBack, Trust

__all__ = [
    "FILE_NAME",
    "Configuration",
    "Decision",
    "Examined",
    "HeldBack",
    "Located",
    "Origin",
    "Surroundings",
    "Trust",
    "examine",
    "read_settings",
    "resolve",
]
