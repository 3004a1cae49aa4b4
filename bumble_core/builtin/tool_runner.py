"""Run the calls of one step in parallel; a failure is an answer, not an exception."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import structlog

from ..errors import ContractError, ToolError
from ..ports import Clock, Timed, Tool
from ..secrecy import masked_text
from ..types.messages import ResultStatus, ToolCall, ToolResult
from ..types.settings import Tools
from ..types.turn import TurnContext

log = structlog.get_logger(__name__)

_GRACE_S = 0.5  # for a cancelled call to clean up; a person who cancels the turn waits for it


class ParallelToolRunner:
    """One task per call, each with a deadline; one that raises, hangs or floods does not touch its siblings.

    What is meant to end the program (`SystemExit`, `KeyboardInterrupt`) is no answer and ends it.

    The deadline is what the configuration says of the tool, else what the tool says, else the one of all tools.
    """

    def __init__(self, tools: Mapping[str, Tool], clock: Clock, settings: Tools) -> None:
        self._tools, self._clock, self._settings = tools, clock, settings

    async def run(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]:
        """Yield each result as it comes; leaving early cancels the calls that are still running."""
        tasks = [asyncio.create_task(self._one(call, turn), name=f"tool:{call.name}") for call in calls]
        waiting = set(tasks)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in (task for task in tasks if task in done):
                    yield task.result()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    async def _one(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        begin = self._clock.monotonic()
        result = await self._answer(call, turn)
        elapsed = self._clock.monotonic() - begin
        return result.model_copy(update={"call_id": call.id, "name": call.name, "elapsed_s": elapsed})

    async def _answer(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        tool = self._tools.get(call.name)
        if tool is None:
            return _failed(call, "refused", f"there is no tool `{call.name}`")
        timeout_s = self._timeout_s(tool)
        task = asyncio.create_task(_called(tool, call, turn), name=f"call:{call.name}")
        try:
            finished, _ = await asyncio.wait([task], timeout=timeout_s)
        finally:
            await _stopped(task, call)
        if not finished:
            return _failed(call, "timeout", f"timed out: no answer within {timeout_s:g} s")
        try:
            return task.result()
        except ToolError as error:
            return _failed(call, "error", _words(error))
        except asyncio.CancelledError:
            return _failed(call, "error", "the tool cancelled itself")
        except Exception as error:
            log.warning("tool.failed", tool=call.name, error=type(error).__name__)
            return _failed(call, "error", masked_text(f"{type(error).__name__}: {_words(error)}"))

    def _timeout_s(self, tool: Tool) -> float:
        if (configured := self._settings.timeouts.get(tool.spec.name)) is not None:
            return configured
        own = tool.timeout_s if isinstance(tool, Timed) else None
        return self._settings.timeout_s if own is None else own


async def _called(tool: Tool, call: ToolCall, turn: TurnContext) -> ToolResult:
    try:
        result: object = await tool.call(call, turn)
    except (Exception, asyncio.CancelledError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(f"the tool raised {type(error).__name__}: {error}") from error
    if not isinstance(result, ToolResult):
        raise ContractError(f"the tool gave {type(result).__name__}, expected a ToolResult")
    return result


async def _stopped(task: asyncio.Task[ToolResult], call: ToolCall) -> None:
    """Cancel a call that still runs; one that does not listen is left behind, so that nobody waits for it."""
    if task.done():
        if not task.cancelled():
            task.exception()  # has been seen: where it ends the program, nobody asks for it any more
        return
    task.cancel()
    _, deaf = await asyncio.wait([task], timeout=_GRACE_S)
    if deaf:
        log.warning("tool.does_not_stop", tool=call.name)


def _words(error: Exception) -> str:
    """Return what an error says, whatever its class makes of that."""
    try:
        return str(error)
    except Exception:
        return "it cannot say what is wrong"


def _failed(call: ToolCall, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=text, status=status)
