"""Where the kernel's own plugin finds `bumble_core.atomic`."""

from __future__ import annotations

from ..atomic import PART_SUFFIX, is_part, sweep, write_atomically

__all__ = ["PART_SUFFIX", "is_part", "sweep", "write_atomically"]
