"""What the exit status of `bumble` means; `docs/reference/exit-codes.md` says the same."""

from __future__ import annotations

from typing import Final

FINE: Final = 0
FAILED: Final = 1  # something went wrong while it ran
MISUSED: Final = 2  # wrong usage or a wrong configuration: nothing was tried
BROKEN: Final = 3  # a check did its work and found something broken
INTERRUPTED: Final = 130  # Ctrl-C, as shells count it
