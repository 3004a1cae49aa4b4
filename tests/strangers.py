"""Plugins of strangers as source text: one that works, and the ways in which others do not."""

from __future__ import annotations

GROUP = "bumble_core.plugins"

_TOOL = """
from bumble_core import hookimpl, tool

def {name}() -> str:
    '''Do what the name says.'''
    return "{says}"

class Plugin:
    def __init__(self, config): ...
    @hookimpl
    def bumble_tools(self):
        return [tool({name})]
"""


def offering(name: str, says: str = "hello") -> str:
    """Return a plugin with one tool."""
    return _TOOL.format(name=name, says=says)


def hook(definition: str, body: str, before: str = "") -> str:
    """Return a plugin with one hook."""
    return f"""
from bumble_core import PluginConfig, hookimpl
{before}
class Plugin:
    def __init__(self, config): ...
    @hookimpl
    def {definition}:
        {body}
"""


ROUTER = hook(
    "bumble_router(self, settings)",
    "return Mine()",
    "class Mine:\n    async def route(self, input):\n        raise RuntimeError('never asked')",
)
CONFIGURED = """
from bumble_core import PluginConfig
from pydantic import Field

class Config(PluginConfig):
    volume: int = Field(default=3, ge=0)

class Plugin:
    Config = Config
    def __init__(self, config): ...
"""
BY_CASE = {
    "good": offering("greet"),
    "broken": "raise ImportError('no module named zzz')",
    "syn": "def broken(:\n",
    "wrong": hook("bumble_tools(self, colour)", "return []"),
    "late": hook("bumble_tools(self)", "raise RuntimeError('late')"),
    "exits": "import sys\nsys.exit(3)",
    "clash": offering("read_file", "not the file"),
}
