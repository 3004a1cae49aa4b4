"""Run the calls of one step: each gets exactly one result, durable as it comes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import structlog
from pydantic import ValidationError

from .closing import closing
from .consent import agrees, agrees_always
from .contract import FAULTS, kept
from .delivery import Mouth
from .journal import Journal
from .outputs import limited
from .ports import Emit, Tool, ToolRunner
from .tool_calls import CallGate, Past, past_calls
from .types.events import ToolFinished, ToolStarted
from .types.messages import ResultStatus, ToolCall, ToolResult, tool_message
from .types.settings import Tools
from .types.turn import TurnContext

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What the kernel holds around whoever fills the tool runner's slot."""

    tools: Mapping[str, Tool]
    runner: ToolRunner
    gate: CallGate
    settings: Tools
    journal: Journal
    mouth: Mouth
    emit: Emit

    async def act(self, turn: TurnContext) -> AsyncGenerator[TurnContext, None]:
        """Yield the turn after each result, so that whatever stops it keeps the results that came.

        At its end, however it comes, all of them are on disk.
        """
        try:
            async with aclosing(self._answers(turn)) as answers:
                async for after in answers:
                    yield after
        finally:
            await self.journal.settled()

    async def _answers(self, turn: TurnContext) -> AsyncGenerator[TurnContext, None]:
        calls, past = turn.pending_calls, past_calls(turn)
        cleared: list[ToolCall] = []
        for call in calls:
            self.emit(ToolStarted(turn.input.id, call))
            refusal = await self._refusal(call, turn, past)
            if refusal is None:
                cleared.append(call)
            else:
                turn = self.record(turn, call, answer(call, refusal, "refused"))
                yield turn
        async with aclosing(self._ordered(tuple(cleared), turn)) as results:
            async for result in results:
                call = next(call for call in cleared if call.id == result.call_id)
                turn = await self._told(turn, call, result)
                yield turn
        for call in turn.pending_calls:
            turn = self.record(turn, call, answer(call, "the tool runner gave no result", "error"))
            yield turn

    def record(self, turn: TurnContext, call: ToolCall, result: ToolResult) -> TurnContext:
        """Make one result part of the turn, and durable by the time that the journal is settled."""
        tool = self.tools.get(call.name)
        fitting = limited(result, self.settings.max_output_chars)
        kept = fitting.model_copy(update={"name": call.name, "is_work": tool is None or tool.is_work})
        message = tool_message(kept)
        self.journal.begin(message)
        self.emit(ToolFinished(turn.input.id, call, kept))
        return turn.observed(message)

    async def _refusal(self, call: ToolCall, turn: TurnContext, past: Past) -> str | None:
        if (problem := self.gate.refusal(call, turn, past)) is not None:
            return problem
        if not self.gate.must_ask(call, turn):
            return None
        reply = await self.mouth.approve(call, turn)
        if agrees_always(reply):
            self.gate.agree(call, turn)
        if agrees(reply):
            return None
        return "the user refused this call" if reply.answered else "nobody could be asked to approve this call"

    async def _ordered(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]:
        """Yield results as they come, but words for the user in the order of the calls that say them."""
        if not calls:
            return
        waiting: dict[str, ToolResult] = {}
        open_calls = {call.id: call for call in calls}
        async with aclosing(self._results(calls, turn)) as results:
            async for result in results:
                if open_calls.pop(result.call_id, None) is None:
                    log.warning("tool.unexpected_result", call=result.call_id)
                    continue
                waiting[result.call_id] = result
                for call in calls:
                    if call.id in waiting and not _must_wait(call, waiting[call.id], calls, open_calls):
                        yield waiting.pop(call.id)
                if not open_calls:
                    break
        for call in calls:
            if call.id in waiting:
                yield waiting.pop(call.id)

    async def _results(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]:
        """Pass on what the runner gives; one that fails has given no more results."""
        known = {call.id: call for call in calls}
        try:
            async with closing(self.runner.run(calls, turn), type(self.runner).__name__) as results:
                async for result in results:
                    yield _valid(kept(result, ToolResult, "the tool runner"), known)
        except FAULTS as error:
            log.warning("tool_runner.failed", runner=type(self.runner).__name__, error=repr(error))

    async def _told(self, turn: TurnContext, call: ToolCall, result: ToolResult) -> TurnContext:
        if not result.said.strip():
            result = result.model_copy(update={"said": ""}) if result.said else result
        elif result.said.strip() in (text.strip() for text in turn.said):
            result = result.model_copy(update={"content": "not sent again: the user has just been told exactly this"})
        else:
            turn, delivery = await self.mouth.deliver(result.said, turn)
            update = (
                {"content": "delivered to the user"}
                if delivery.delivered
                else {"content": f"not delivered: {delivery.problem}", "status": "error", "said": ""}
            )
            result = result.model_copy(update=update)
        return self.record(turn, call, result)


def answer(call: ToolCall, text: str, status: ResultStatus) -> ToolResult:
    """Return a result that the kernel gives in a tool's place."""
    return ToolResult(call_id=call.id, name=call.name, content=text, status=status)


def _valid(result: ToolResult, calls: Mapping[str, ToolCall]) -> ToolResult:
    """Return a result that was made with care, or say to the model that its call's result is none."""
    try:
        ToolResult.model_validate(result.__dict__)
    except ValidationError as error:
        fields = ", ".join(f"`{one['loc'][0]}`" for one in error.errors(include_url=False))
        log.warning("tool.invalid_result", call=result.call_id, fields=fields)
        return answer(calls[result.call_id], f"the tool gave a result that is none: see {fields}", "error")
    return result


def _must_wait(
    call: ToolCall, result: ToolResult, calls: tuple[ToolCall, ...], open_calls: Mapping[str, ToolCall]
) -> bool:
    if not result.said:
        return False
    earlier = calls[: calls.index(call)]
    return any(other.id in open_calls and other.name == call.name for other in earlier)
