"""Run the calls of one step in parallel; a failure is an answer, not an exception."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import structlog

from ..errors import ToolError
from ..ports import Clock, Tool
from ..types.messages import ResultStatus, ToolCall, ToolResult
from ..types.turn import TurnContext

log = structlog.get_logger(__name__)


class ParallelToolRunner:
    """One task per call, each with a deadline; one that raises, hangs or floods does not touch its siblings."""

    def __init__(self, tools: Mapping[str, Tool], clock: Clock, timeout_s: float) -> None:
        self._tools, self._clock, self._timeout_s = tools, clock, timeout_s

    async def run(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]:
        """Yield each result as it comes; leaving early cancels the calls that are still running."""
        tasks = [asyncio.create_task(self._one(call, turn), name=f"tool:{call.name}") for call in calls]
        try:
            for next_done in asyncio.as_completed(tasks):
                yield await next_done
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        begin = self._clock.monotonic()
        result = await self._answer(call, turn)
        elapsed = self._clock.monotonic() - begin
        return result.model_copy(update={"call_id": call.id, "name": call.name, "elapsed_s": elapsed})

    async def _answer(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            return _failed(call, "refused", f"there is no tool `{call.name}`")
        deadline = asyncio.timeout(self._timeout_s)
        try:
            async with deadline:
                return await tool.call(call, turn)
        except ToolError as error:
            return _failed(call, "error", str(error))
        except TimeoutError as error:
            if deadline.expired():
                return _failed(call, "timeout", f"no answer within {self._timeout_s:g} s")
            return _failed(call, "error", f"TimeoutError: {error}")
        except (Exception, SystemExit) as error:
            log.warning("tool.failed", tool=call.name, error=type(error).__name__)
            return _failed(call, "error", f"{type(error).__name__}: {error}")


def _failed(call: ToolCall, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=text, status=status)
