"""Tools for talking: say something, think, wait a little, ask to end the turn."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bumble_core import PluginConfig, ToolError, ToolResult, hookimpl, tool
from bumble_core.ports import Clock, Tool

_SHORTEST_WAIT_S = 1
_LONGEST_WAIT_S = 15


def say(message: Annotated[str, Field(description="What the user will read, complete in itself.")]) -> ToolResult:
    """Send a message to the user now, while you go on working. The user sees nothing else of your work."""
    if not message.strip():
        raise ToolError("`message` is empty; nothing was sent")
    return ToolResult(call_id="", name="", content="handed over", said=message)


def think(thought: Annotated[str, Field(description="Your reasoning; the user does not see it.")]) -> str:
    """Note a thought before you act. It changes nothing and shows nothing to the user."""
    return f"noted, {len(thought)} characters; now act on it"


def end_turn(reason: Annotated[str, Field(description="Why nothing is left to do.")] = "") -> ToolResult:
    """Ask to end your turn. Use it only when the task is done and the user has been told the outcome."""
    return ToolResult(
        call_id="", name="", content=f"asked to end the turn: {reason or 'no reason given'}", ends_turn=True
    )


class TalkPlugin:
    """Offers `say`, `think`, `wait` and `end_turn`; none of them counts as work."""

    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl
    def bumble_tools(self, clock: Clock) -> list[Tool]:
        async def wait(seconds: Annotated[float, Field(description="How long, from 1 to 15.")]) -> str:
            """Pause for some seconds, for example before you look again at something that takes time."""
            span = min(max(seconds, _SHORTEST_WAIT_S), _LONGEST_WAIT_S)
            await clock.sleep(span)
            return f"waited {span:g} s"

        return [tool(each, is_work=False) for each in (say, think, wait, end_turn)]
