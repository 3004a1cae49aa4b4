"""Replies of model servers for `StubServer`, made from messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..types.inference import Usage
from ..types.messages import Message, ToolCall
from .stub_server import StubReply

_USAGE = Usage(input_tokens=12, output_tokens=3)
_PIECE = 7  # characters of a text that travel together


def openai_stream(
    message: Message, *, finish: str = "", usage: Usage | None = _USAGE, model: str = "m", piece: int = _PIECE
) -> list[bytes]:
    """Return the events of a streamed chat completion that says `message`, one per item.

    Texts travel in pieces of `piece` characters. Without `usage` nothing is counted.
    """
    calls = message.tool_calls
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": text} for text in _pieces(message.thinking, piece)]
    deltas += [{"content": text} for text in _pieces(message.text, piece)]
    for index, call in enumerate(calls):
        deltas.append({"tool_calls": [_openai_call(index, call)]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
            for text in _pieces(_arguments(call), piece)
        ]
    ending = finish or ("tool_calls" if calls else "stop")
    chunks = [_chunk(model, delta, None) for delta in deltas] + [_chunk(model, {}, ending)]
    if usage is not None:
        counts = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
        chunks.append({**_chunk(model, {}, None), "choices": [], "usage": counts})
    return [sse_event(chunk) for chunk in chunks] + [b"data: [DONE]\n\n"]


def ollama_stream(
    message: Message, *, reason: str = "stop", usage: Usage | None = _USAGE, model: str = "m", piece: int = _PIECE
) -> list[bytes]:
    """Return the lines of a streamed answer of `/api/chat` that says `message`, as `openai_stream` does."""
    says: list[dict[str, Any]] = [{"content": "", "thinking": text} for text in _pieces(message.thinking, piece)]
    says += [{"content": text} for text in _pieces(message.text, piece)]
    if message.tool_calls:
        calls = [
            {"function": {"name": call.name, "arguments": call.raw or call.arguments}} for call in message.tool_calls
        ]
        says.append({"content": "", "tool_calls": calls})
    lines = [{"model": model, "message": {"role": "assistant", **said}, "done": False} for said in says]
    last = {
        "model": model,
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": reason,
    }
    if usage is not None:
        last |= {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return [ndjson_line(line) for line in (*lines, last)]


def sse_reply(events: Sequence[bytes]) -> StubReply:
    """Return the reply that streams `events` of `openai_stream`."""
    return StubReply(headers={"content-type": "text/event-stream"}, body=tuple(events))


def ndjson_reply(lines: Sequence[bytes]) -> StubReply:
    """Return the reply that streams `lines` of `ollama_stream`."""
    return StubReply(headers={"content-type": "application/x-ndjson"}, body=tuple(lines))


def json_reply(body: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> StubReply:
    """Return a reply that is one JSON document."""
    return StubReply(
        status=status,
        headers={"content-type": "application/json", **(headers or {})},
        body=(json.dumps(body).encode(),),
        framing="length",
    )


def sse_event(data: object) -> bytes:
    """Return one event whose data is JSON."""
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def ndjson_line(data: object) -> bytes:
    """Return one line of JSON."""
    return f"{json.dumps(data, ensure_ascii=False)}\n".encode()


def _chunk(model: str, delta: Mapping[str, Any], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "model": model, "choices": [choice]}


def _openai_call(index: int, call: ToolCall) -> dict[str, Any]:
    return {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}


def _arguments(call: ToolCall) -> str:
    return call.raw or json.dumps(call.arguments, ensure_ascii=False)


def _pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
