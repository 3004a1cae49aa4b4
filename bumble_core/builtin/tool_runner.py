"""Run the calls of one step in parallel; a failure is an answer, not an exception."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass

import structlog

from ..contract import kept
from ..errors import ToolError
from ..ports import Clock, Timed, Tool
from ..secrecy import masked_text
from ..types.messages import ResultStatus, ToolCall, ToolResult
from ..types.settings import Tools
from ..types.turn import TurnContext

log = structlog.get_logger(__name__)

_GRACE_S = 0.5  # for a cancelled call to clean up; a person who cancels the turn waits for it


@dataclass(frozen=True, slots=True)
class _Running:
    """A call that has begun, and the moment of the event loop's clock after which nobody waits for it."""

    call: ToolCall
    timeout_s: float
    given_up_at: float


class ParallelToolRunner:
    """One task per call, each with a deadline; one that raises, hangs or floods does not touch its siblings.

    What is meant to end the program (`SystemExit`, `KeyboardInterrupt`) is no answer and ends it.

    The deadline is what the configuration says of the tool, else what the tool says, else the one of all tools.
    """

    def __init__(self, tools: Mapping[str, Tool], clock: Clock, settings: Tools) -> None:
        self._tools, self._clock, self._settings = tools, clock, settings
        self._timeouts: dict[str, float] = {}  # by tool, once it was called

    async def run(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]:
        """Yield each result as it comes; leaving early cancels the calls that are still running."""
        running: dict[asyncio.Task[ToolResult], _Running] = {}
        try:
            for call in calls:
                if (tool := self._tools.get(call.name)) is None:
                    yield _failed(call, "refused", f"there is no tool `{call.name}`")
                else:
                    running.update([self._started(tool, call, turn)])
            while running:
                await _one_ended(running)
                for task, begun in _ended(running):
                    del running[task]
                    yield _result(task, begun)
        finally:
            await _stopped(running)

    def _started(self, tool: Tool, call: ToolCall, turn: TurnContext) -> tuple[asyncio.Task[ToolResult], _Running]:
        if (timeout_s := self._timeouts.get(call.name)) is None:
            timeout_s = self._timeouts[call.name] = _timeout_s(tool, self._settings)
        task = asyncio.create_task(self._one(tool, call, turn, timeout_s), name=f"call:{call.name}")
        until = asyncio.get_running_loop().time() + timeout_s + _GRACE_S
        return task, _Running(call, timeout_s, until)

    async def _one(self, tool: Tool, call: ToolCall, turn: TurnContext, timeout_s: float) -> ToolResult:
        begin = self._clock.monotonic()
        result = await _answer(tool, call, turn, timeout_s)
        elapsed = self._clock.monotonic() - begin
        return result.model_copy(update={"call_id": call.id, "name": call.name, "elapsed_s": elapsed})


async def _answer(tool: Tool, call: ToolCall, turn: TurnContext, timeout_s: float) -> ToolResult:
    deadline = asyncio.timeout(timeout_s)
    try:
        async with deadline:
            result = await tool.call(call, turn)
        return _timed_out(call, timeout_s) if deadline.expired() else kept(result, ToolResult, "the tool")
    except ToolError as error:
        return _failed(call, "error", _words(error))
    except (asyncio.CancelledError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        if deadline.expired():
            return _timed_out(call, timeout_s)
        log.warning("tool.failed", tool=call.name, error=type(error).__name__)
        said = f"{type(error).__name__}: {_words(error)}"
        return _failed(call, "error", masked_text(said if isinstance(error, Exception) else f"the tool raised {said}"))


async def _one_ended(running: Mapping[asyncio.Task[ToolResult], _Running]) -> None:
    """Wait until a call has its result, or until the first of them is given up."""
    now = asyncio.get_running_loop().time()
    soonest = min(begun.given_up_at for begun in running.values())
    await asyncio.wait(running, timeout=max(0.0, soonest - now), return_when=asyncio.FIRST_COMPLETED)


def _ended(
    running: Mapping[asyncio.Task[ToolResult], _Running],
) -> list[tuple[asyncio.Task[ToolResult], _Running]]:
    """Return the calls that are over, in the order in which they began; one that does not listen counts as over."""
    now = asyncio.get_running_loop().time()
    return [(task, begun) for task, begun in running.items() if task.done() or now >= begun.given_up_at]


def _result(task: asyncio.Task[ToolResult], begun: _Running) -> ToolResult:
    if task.cancelled():
        return _failed(begun.call, "error", "the tool cancelled itself")
    if task.done():
        return task.result()
    log.warning("tool.does_not_stop", tool=begun.call.name)
    return _timed_out(begun.call, begun.timeout_s)


async def _stopped(running: Mapping[asyncio.Task[ToolResult], _Running]) -> None:
    """Cancel calls that still run; one that does not listen is left behind, so that nobody waits for it."""
    if not running:
        return
    for task in running:
        task.cancel()
    over, deaf = await asyncio.wait(running, timeout=_GRACE_S)
    for task in over:
        if not task.cancelled():
            task.exception()  # has been seen: where it ends the program, nobody asks for it any more
    for task in deaf:
        log.warning("tool.does_not_stop", tool=running[task].call.name)


def _timeout_s(tool: Tool, settings: Tools) -> float:
    if (configured := settings.timeouts.get(tool.spec.name)) is not None:
        return configured
    own = tool.timeout_s if isinstance(tool, Timed) else None
    return settings.timeout_s if own is None else own


def _words(error: BaseException) -> str:
    """Return what an error says, whatever its class makes of that."""
    try:
        return str(error)
    except Exception:
        return "it cannot say what is wrong"


def _timed_out(call: ToolCall, timeout_s: float) -> ToolResult:
    return _failed(call, "timeout", f"timed out: no answer within {timeout_s:g} s")


def _failed(call: ToolCall, status: ResultStatus, text: str) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, content=text, status=status)
