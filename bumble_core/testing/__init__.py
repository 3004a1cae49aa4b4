"""What a plugin author needs to test a plugin: a scripted model and checks of what is sent to it."""

from __future__ import annotations

from .requests import check_prefix, check_request, flatten
from .scripted import BrokenScript, Reply, ScriptedProvider

__all__ = ["BrokenScript", "Reply", "ScriptedProvider", "check_prefix", "check_request", "flatten"]
