"""Show stored turns to a person: as plain text or as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ..history import merged
from ..types.messages import Message, ToolCall, ToolResult
from ..types.turn import Turn
from .compactions import lines_of
from .verdicts import verdict_lines

Kind = Literal["input", "told", "internal", "thought", "call", "result"]

_SHOWN = {"input", "told", "call"}
_LONGEST_ARGUMENTS = 100  # characters of a call's arguments that are shown unless all is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that happened in a turn. `told` is what the user saw, `internal` what the model wrote beside it."""

    kind: Kind
    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The turns of one session; `agent` is the name to show for who answers."""

    session: str
    agent: str
    turns: tuple[Turn, ...]


def entries(turn: Turn) -> Iterator[Entry]:
    """Yield what happened in a turn, in its order; each delivered text once."""
    unseen = list(turn.delivered)
    results = {result.call_id: result for message in turn.messages for result in message.tool_results}
    for message in _whole(turn.messages):
        if message.role == "user":
            yield Entry(kind="input", text=message.text)
        elif message.role == "assistant":
            yield from _written(message, unseen)
            for call in message.tool_calls:
                yield from _called(call, results.get(call.id), unseen)
    yield from (Entry(kind="told", text=text) for text in unseen)


def as_text(conversation: Conversation, *, full: bool, verdicts: bool = False) -> str:
    """Return a conversation to read; `full` adds thoughts, results and internal text, `verdicts` why turns ended."""
    lines = [f"Session {conversation.session}"]
    for turn in conversation.turns:
        lines += ["", _headline(turn), *_notices(turn)]
        for entry in entries(turn):
            if full or entry.kind in _SHOWN:
                lines += _as_lines(entry, conversation.agent, full=full)
        if verdicts:
            lines += verdict_lines(turn)
        if full:
            lines += [_costs(turn), *(line for done in turn.compactions for line in lines_of(done))]
    return "\n".join(lines)


def as_markdown(conversation: Conversation) -> str:
    """Return a conversation as a Markdown document; nobody's words can break out of their place in it."""
    blocks = [f"# Session `{conversation.session}`"]
    for turn in conversation.turns:
        blocks += [f"## {_headline(turn)}", *(f"*{notice.strip()}*" for notice in _notices(turn))]
        blocks += [_as_block(entry, conversation.agent) for entry in entries(turn) if entry.kind in _SHOWN]
    return "\n\n".join(blocks) + "\n"


def fenced(text: str) -> str:
    """Put text between fences longer than any that it holds."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def arguments_line(call: ToolCall, width: int | None = None) -> str:
    """Return the arguments of a call on one line: `path="a.txt" text="…"`."""
    given = " ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in call.arguments.items())
    line = " ".join((given or call.raw).split())
    return line if width is None or len(line) <= width else line[: width - 1] + "…"


def _whole(messages: tuple[Message, ...]) -> Iterator[Message]:
    """Yield the messages with replies that were cut by their length put together again."""
    before: Message | None = None
    for message in messages:
        if before is not None and message.continues:
            (before,) = merged((before, message))
            continue
        if before is not None:
            yield before
        before = message
    if before is not None:
        yield before


def _written(message: Message, unseen: list[str]) -> Iterator[Entry]:
    if message.thinking.strip():
        yield Entry(kind="thought", text=message.thinking.strip())
    if text := message.text.strip():
        yield Entry(kind="told" if _take(text, unseen) else "internal", text=text)


def _called(call: ToolCall, result: ToolResult | None, unseen: list[str]) -> Iterator[Entry]:
    if result is not None and result.said and _take(result.said.strip(), unseen):
        yield Entry(kind="told", text=result.said.strip())
        return
    status = result.status if result else "no result"
    yield Entry(kind="call", title=f"{call.name}: {status}", text=arguments_line(call))
    if result is not None and result.content:
        yield Entry(kind="result", title=call.name, text=result.content)
    if result is not None and result.diff:
        yield Entry(kind="result", title=call.name, text=result.diff.rstrip("\n"))


def _take(text: str, unseen: list[str]) -> bool:
    found = next((told for told in unseen if told.strip() == text), None)
    if found is not None:
        unseen.remove(found)
    return found is not None


def _headline(turn: Turn) -> str:
    return f"Turn {turn.number}, {turn.started.astimezone():%Y-%m-%d %H:%M}, {turn.status}"


def _notices(turn: Turn) -> list[str]:
    if turn.status == "done":
        return []
    label = {"capped": "stopped at a limit"}.get(turn.status, turn.status)
    return [f"  ({label}: {turn.error})" if turn.error else f"  ({label})"]


def _as_lines(entry: Entry, name: str, *, full: bool) -> list[str]:
    match entry.kind:
        case "input":
            return _hanging("you", entry.text)
        case "told":
            return _hanging(name, entry.text)
        case "call":
            arguments = entry.text if full else entry.text[:_LONGEST_ARGUMENTS]
            return [f"  - {entry.title} {arguments}{'…' if arguments != entry.text else ''}".rstrip()]
        case "result":
            return [f"    | {line}" for line in entry.text.splitlines()]
        case "thought" | "internal":
            label = "thought" if entry.kind == "thought" else "not shown"
            return [f"  ({label}) {line}" for line in entry.text.splitlines()]


def _hanging(label: str, text: str) -> list[str]:
    first, *others = text.splitlines() or [""]
    return [f"{label}: {first}", *(f"  {line}" if line else "" for line in others)]


def _as_block(entry: Entry, name: str) -> str:
    if entry.kind in {"input", "told"}:
        quoted = "\n".join(f"> {line}".rstrip() for line in entry.text.splitlines())
        return f"**{'You' if entry.kind == 'input' else name}**\n\n{quoted}"
    return fenced(f"{entry.title}\n{entry.text}".strip())


def _costs(turn: Turn) -> str:
    calls = ", ".join(f"{purpose} {count}" for purpose, count in turn.calls.items()) or "none"
    estimated = ", estimated" if turn.usage.estimated else ""
    cached = f" ({turn.usage.cached_tokens} from the cache)" if turn.usage.cached_tokens else ""
    tokens = f"{turn.usage.input_tokens} tokens in{cached}, {turn.usage.output_tokens} out{estimated}"
    cost = "" if turn.cost is None else f"; cost {turn.cost:.4g}"
    prompt = f"; system prompt {turn.prompt[:12]}" if turn.prompt else ""
    return f"  ({tokens}; requests: {calls}{cost}{prompt})"
