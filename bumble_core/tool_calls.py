"""What the kernel does around the tool runner: refuse what must not run, ask for approval, bound what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal

import structlog

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
_RESETS = "wait"
_SAMPLE_CHARS = 4096
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff\ufffd]")

Approval = Literal["allow", "ask", "deny"]


class CallGate:
    """Says why a call must not run. A tool's schema is compiled at its first call and kept."""

    def __init__(self, tools: Mapping[str, Tool], settings: Tools) -> None:
        self._tools, self._settings = tools, settings
        self._checks: dict[str, ArgumentCheck] = {}

    def refusal(self, call: ToolCall, turn: TurnContext) -> str | None:
        """Return what the model is told in place of a result, or None when nothing forbids the call.

        In this order: it did not arrive whole, there is no such tool, its arguments do not fit, it only repeats
        itself, the configuration denies it. Whether it needs a person's consent is `approval`'s answer.
        """
        if call.problem:
            return f"`{call.name}` was not run: {call.problem}"
        if (tool := self._tools.get(call.name)) is None:
            return _unknown(call.name, tuple(self._tools))
        if text := self._misfit(call, tool.spec):
            return text
        if tool.is_work and (length := _cycle_length(call, turn)):
            what = "the same call has" if length == 1 else f"the same round of {length} calls has"
            return (
                f"`{call.name}` was not run again: {what} given the same result {_EQUAL_RESULTS} times in "
                "a row and would only repeat it. Use that result, change the arguments, try another way, or say what "
                "stands in the way."
            )
        return denial(call, self._settings) if approval(call, self._settings) == "deny" else None

    def _misfit(self, call: ToolCall, spec: ToolSpec) -> str | None:
        try:
            if (check := self._checks.get(spec.name)) is None:
                check = self._checks[spec.name] = ArgumentCheck(spec.name, spec.parameters)
        except ValueError as error:
            log.warning("tool.schema_invalid", tool=spec.name, error=str(error))
            return f"`{call.name}` cannot be run: its parameters are described by an invalid schema. Use another tool."
        return check.misfit(call.arguments)


def approval(call: ToolCall, settings: Tools) -> Approval:
    """Return whether a call runs, by its name: `deny` wins, then `ask`, then `allow`; a name not listed is denied."""
    if _listed(call.name, settings.deny):
        return "deny"
    if _listed(call.name, settings.ask):
        return "ask"
    return "allow" if _listed(call.name, settings.allow) else "deny"


def denial(call: ToolCall, settings: Tools) -> str:
    """Return what the model is told about a call that the configuration denies."""
    if _listed(call.name, settings.deny):
        return f"`{call.name}` was not run: the configuration denies it (`tools.deny`). Do without it."
    return (
        f"`{call.name}` was not run: it is not listed in `tools.allow` of the configuration. Do without it, or tell "
        "the user which line to add."
    )


def limited(result: ToolResult, max_chars: int) -> ToolResult:
    """Return `result` with a content of at most `max_chars` that any server can read.

    What is longer loses its middle; binary content is described instead; what is not Unicode is replaced.
    """
    content, total = result.content, len(result.content)
    if "\x00" in content or _is_binary(content[:_SAMPLE_CHARS]):
        content = f"binary output of {total} characters, not shown"
    elif total > max_chars:
        content = _without_middle(content, max_chars)
    content, said = _SURROGATES.sub("\ufffd", content), _SURROGATES.sub("\ufffd", result.said)
    if (content, said) == (result.content, result.said):
        return result
    return result.model_copy(update={"content": content, "said": said})


def with_safe_calls(completion: Completion, turn: TurnContext) -> Completion:
    """Give every call an id of its own in this view, and let no call of a message cut by its length run."""
    calls = completion.message.tool_calls
    if not calls:
        return completion
    taken = {call.id for message in turn.view for call in message.tool_calls}
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


def _without_middle(text: str, max_chars: int) -> str:
    marker = "\n[… {} of {} characters left out here; ask for a smaller part to read them …]\n"
    room = max(0, max_chars - len(marker.format(len(text), len(text))))
    tail = room // 3
    head = room - tail
    return text[:head] + marker.format(len(text) - room, len(text)) + text[len(text) - tail :]


def _is_binary(sample: str) -> bool:
    return len(_UNREADABLE.findall(sample)) > max(8, len(sample) // 10)


def _listed(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _unknown(name: str, known: tuple[str, ...]) -> str:
    few = len(known) <= _MOST_TOOLS_LISTED
    listed = "; the tools are " + ", ".join(f"`{each}`" for each in known) if known and few else ""
    return f"there is no tool {shown(name)}{did_you_mean(name, known)}{listed}"


def _cycle_length(call: ToolCall, turn: TurnContext) -> int:
    """Return how many work calls the cycle has that `call` would go on with and whose results no longer change."""
    past = _past(turn)
    sign = _sign(call)
    lengths = (each for each in _CYCLE_LENGTHS if _is_cycle(past[-each * _EQUAL_RESULTS :], each, sign))
    return next(lengths, 0)


def _is_cycle(past: list[tuple[str, str]], length: int, sign: str) -> bool:
    rounds = [past[start : start + length] for start in range(0, len(past), length)]
    is_round = len(past) == length * _EQUAL_RESULTS and all(each == rounds[0] for each in rounds)
    return is_round and sign in {known for known, _ in rounds[0]}


def _past(turn: TurnContext) -> list[tuple[str, str]]:
    """Return the work calls that ran in this turn, oldest first, each with its result; waiting forgets them."""
    calls = {call.id: call for message in turn.log for call in message.tool_calls}
    past: list[tuple[str, str]] = []
    for result in (result for message in turn.log for result in message.tool_results):
        if result.name == _RESETS and result.status == "ok":
            past.clear()
        elif result.is_work and result.status != "refused" and result.call_id in calls:
            past.append((_sign(calls[result.call_id]), f"{result.status}: {result.content}"))
    return past


def _sign(call: ToolCall) -> str:
    return json.dumps([call.name, call.arguments], sort_keys=True)
