"""What the kernel refuses to run, and why."""

from __future__ import annotations

import json
from collections.abc import Mapping

import structlog

from .approvals import Approvals, denial
from .misfits import ArgumentCheck, did_you_mean, shown
from .ports import Tool
from .types.base import new_id
from .types.inference import Completion, ToolSpec
from .types.messages import Message, Part, ToolCall, ToolResult
from .types.settings import Tools
from .types.turn import TurnContext

log = structlog.get_logger(__name__)

_MOST_TOOLS_LISTED = 20
_EQUAL_RESULTS = 2  # the third call of the same kind is refused
_CYCLE_LENGTHS = (1, 2, 3, 4)
_LONGEST_PAST = _EQUAL_RESULTS * _CYCLE_LENGTHS[-1]
_RESETS = "wait"
_SORTED = json.JSONEncoder(sort_keys=True)


Past = tuple[tuple[str, str], ...]  # calls by their names and arguments, each with its result


class CallGate:
    """Says why a call must not run, or that a person decides.

    A tool's schema is compiled at its first call and kept.
    """

    def __init__(self, tools: Mapping[str, Tool], settings: Tools) -> None:
        self._tools = tools
        self._approvals = Approvals(tools, settings)
        self._checks: dict[str, ArgumentCheck] = {}

    def refusal(self, call: ToolCall, turn: TurnContext, past: Past = ()) -> str | None:
        """Return what the model is told in place of a result, or None when nothing forbids the call.

        `past` is what `past_calls` gives for the turn before the step.

        In this order: it did not arrive whole, there is no such tool, its arguments do not fit, it only repeats
        itself, the configuration denies it. Whether it needs a person's consent is what `must_ask` says.
        """
        if call.problem:
            return f"`{call.name}` was not run: {call.problem}"
        if (tool := self._tools.get(call.name)) is None:
            return _unknown(call.name, tuple(self._tools))
        if text := self._misfit(call, tool.spec):
            return text
        if tool.is_work and (length := _cycle_length(call, past)):
            what = "the same call has" if length == 1 else f"the same round of {length} calls has"
            return (
                f"`{call.name}` was not run again: {what} given the same result {_EQUAL_RESULTS} times in "
                "a row and would only repeat it. Use that result, change the arguments, try another way, or say what "
                "stands in the way."
            )
        decision = self._approvals.decision(call, turn.input.session_id)
        return denial(call, decision.rule) if decision.approval == "deny" else None

    def must_ask(self, call: ToolCall, turn: TurnContext) -> bool:
        """Tell whether a call that is not refused runs only after a person agreed."""
        return self._approvals.decision(call, turn.input.session_id).approval == "ask"

    def agree(self, call: ToolCall, turn: TurnContext) -> None:
        """Remember that this very call needs no question in this session any more."""
        self._approvals.agree(call, turn.input.session_id)

    def _misfit(self, call: ToolCall, spec: ToolSpec) -> str | None:
        try:
            if (check := self._checks.get(spec.name)) is None:
                check = self._checks[spec.name] = ArgumentCheck(spec.name, spec.parameters)
        except ValueError as error:
            log.warning("tool.schema_invalid", tool=spec.name, error=str(error))
            return f"`{call.name}` cannot be run: its parameters are described by an invalid schema. Use another tool."
        return check.misfit(call.arguments)


def with_safe_calls(completion: Completion, turn: TurnContext) -> Completion:
    """Give every call an id of its own in this view, and let no call of a message cut by its length run."""
    calls = completion.message.tool_calls
    if not calls:
        return completion
    taken = {call.id for message in turn.view if message.role == "assistant" for call in message.tool_calls}
    is_cut = completion.finish in ("length", "cut")
    parts: list[Part] = []
    for part in completion.message.parts:
        safe = _safe_call(part, taken, is_cut=is_cut) if isinstance(part, ToolCall) else part
        if isinstance(safe, ToolCall):
            taken.add(safe.id)
        parts.append(safe)
    message: Message = completion.message.model_copy(update={"parts": tuple(parts)})
    return completion.model_copy(update={"message": message})


def _safe_call(call: ToolCall, taken: set[str], *, is_cut: bool) -> ToolCall:
    update: dict[str, str] = {} if call.id and call.id not in taken else {"id": new_id("call")}
    if is_cut and not call.problem:
        update["problem"] = "the message was cut before it was complete"
    return call.model_copy(update=update)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    few = len(known) <= _MOST_TOOLS_LISTED
    listed = "; the tools are " + ", ".join(f"`{each}`" for each in known) if known and few else ""
    return f"there is no tool {shown(name)}{did_you_mean(name, known)}{listed}"


def past_calls(turn: TurnContext) -> Past:
    """Return the latest work calls that ran in this turn, oldest first, each with its result.

    There are no more of them than the longest cycle needs; waiting forgets them.
    """
    ran: list[ToolResult] = []
    for result in (found for message in reversed(turn.log) for found in message.tool_results):
        if len(ran) == _LONGEST_PAST or (result.name == _RESETS and result.status == "ok"):
            break
        if result.is_work and result.status != "refused":
            ran.append(result)
    ids = {result.call_id for result in ran}
    calls = {call.id: call for message in turn.log for call in message.tool_calls if call.id in ids}
    return tuple(
        (_sign(calls[result.call_id]), f"{result.status}: {result.content}")
        for result in reversed(ran)
        if result.call_id in calls
    )


def _cycle_length(call: ToolCall, past: Past) -> int:
    """Return how many work calls the cycle has that `call` would go on with and whose results no longer change."""
    if len(past) < _EQUAL_RESULTS:
        return 0
    sign = _sign(call)
    if all(sign != known for known, _ in past):
        return 0
    lengths = (each for each in _CYCLE_LENGTHS if _is_cycle(past[-each * _EQUAL_RESULTS :], each, sign))
    return next(lengths, 0)


def _is_cycle(past: Past, length: int, sign: str) -> bool:
    rounds = [past[start : start + length] for start in range(0, len(past), length)]
    is_round = len(past) == length * _EQUAL_RESULTS and all(each == rounds[0] for each in rounds)
    return is_round and sign in {known for known, _ in rounds[0]}


def _sign(call: ToolCall) -> str:
    return _SORTED.encode([call.name, call.arguments])
