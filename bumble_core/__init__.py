"""A small kernel for an agent's cognition: every stage is a plugin.

The public names are loaded when they are first asked for, so that a process which needs little imports little. Type
checkers read them from `__init__.pyi`; a test holds the two together.
"""

from __future__ import annotations

import importlib

_HOME_OF = {
    "AssemblyError": "errors",
    "BumbleError": "errors",
    "ConfigError": "errors",
    "ContractError": "errors",
    "Deferred": "deferred",
    "HomeError": "errors",
    "InferenceError": "errors",
    "Later": "deferred",
    "Message": "types.messages",
    "PluginConfig": "types.settings",
    "PluginError": "errors",
    "RunError": "errors",
    "Runtime": "runtime",
    "Settings": "types.settings",
    "StageConflictError": "errors",
    "ToolCall": "types.messages",
    "ToolError": "errors",
    "ToolResult": "types.messages",
    "Turn": "types.turn",
    "TurnHandle": "turn_handle",
    "WatchedDocuments": "watching",
    "assemble": "assembly",
    "assistant": "types.messages",
    "complete": "asking",
    "fitted": "framing",
    "framed": "framing",
    "hookimpl": "hookspecs",
    "is_locked": "locking",
    "read_settings": "configuration",
    "shortened": "framing",
    "title_key": "locking",
    "tool": "tools",
    "tool_message": "types.messages",
    "user": "types.messages",
    "with_shorter_outputs": "cutting",
}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
