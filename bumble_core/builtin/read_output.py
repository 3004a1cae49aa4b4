"""Let the model read what was cut out of a tool's output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ..errors import ToolError
from ..outputs import READER
from ..ports import Tool
from ..tools import tool
from ..types.messages import ToolResult
from ..types.turn import TurnContext

_HEADER_CHARS = 150


def with_reader(tools: Mapping[str, Tool], max_output_chars: int) -> Mapping[str, Tool]:
    """Return `tools` and one that reads on in their outputs; where none of them works, there is nothing to read."""
    if READER in tools or not any(each.is_work for each in tools.values()):
        return tools
    return {**tools, READER: tool(_OutputReader(max_output_chars - _HEADER_CHARS).read_output)}


class _OutputReader:
    def __init__(self, room: int) -> None:
        self._room = room

    def read_output(
        self,
        turn: TurnContext,
        call_id: Annotated[str, Field(description="As the cut output names it; empty: the latest.")] = "",
        start: Annotated[int, Field(description="First character, from 0.", ge=0)] = 0,
    ) -> str:
        """Read on in an output that was cut."""
        result = _cut(turn, call_id)
        total = len(result.whole)
        if start >= total:
            raise ToolError(f"this output has {total} characters, none from {start} on")
        end = min(total, start + self._room)
        rest = f"; go on with start={end}" if end < total else ""
        return f"[characters {start} to {end} of {total}{rest}]\n{result.whole[start:end]}"


def _cut(turn: TurnContext, call_id: str) -> ToolResult:
    messages = (*turn.view, *turn.log)
    results = [result for message in messages for result in message.tool_results if result.whole]
    for result in reversed(results):
        if result.call_id == call_id or not call_id:
            return result
    raise ToolError("no output that was cut is at hand under this `call_id`; run the call again if you need it")
