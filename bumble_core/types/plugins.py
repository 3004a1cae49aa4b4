"""What became of each plugin, and who fills each slot."""

from __future__ import annotations

from typing import Literal

from .base import Value


class Choice(Value):
    """Who fills a slot and why; `bumble stages` prints these. `wrapped_by` goes from the inside out."""

    stage: str
    plugin: str
    reason: str
    passed_over: tuple[str, ...] = ()
    wrapped_by: tuple[str, ...] = ()


class PluginReport(Value):
    """One plugin as `bumble plugins` shows it: what it offers, or why it does not and what mends it.

    `missing` means that an extra of its distribution is not installed: nobody needs every extra.
    """

    name: str
    distribution: str
    version: str
    state: Literal["loaded", "disabled", "missing", "failed"]
    offers: tuple[str, ...] = ()
    reason: str = ""
    remedy: str = ""
