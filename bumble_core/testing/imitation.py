"""A server that behaves like a known one: what it honours, what it ignores, what it refuses and in which words.

It has no model. Where it is forced it gives the smallest call or reply that fits, and else a few words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..types.inference import Usage
from ..types.messages import Message, Part, Text, Thinking, ToolCall
from .instances import smallest_instance
from .stub_replies import json_reply, ndjson_reply, ollama_stream, openai_stream, sse_reply
from .stub_server import StubReply, StubRequest

WORDS = "Hello there!"
_THOUGHT = "They greet me."
_CHARS_PER_TOKEN = 4

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that is refused: `when` is asked about its body; `{model}` in the words is filled in."""

    when: Callable[[Body], bool]
    words: str
    status: int = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Imitation:
    """One server with one model. `source` says where the behaviour is known from.

    `required` is what comes of a call that must be made: it is made, the choice is ignored, or nothing at all is
    said. `error` gives the body for a status and words. `window` is in tokens; a longer request is refused with
    `overflow`, where `{tokens}` and `{window}` are filled in. `counts` says whether tokens are told always or only
    when they are asked for. `thinks` tells whether a request makes the model think.
    """

    name: str
    source: str
    wire: Literal["chat", "ollama"] = "chat"
    required: Literal["honoured", "ignored", "silence"] = "honoured"
    honours_schema: bool = True
    refusals: tuple[Refusal, ...] = ()
    error: Callable[[int, str], object]
    window: int = 32_768
    overflow: str
    counts: Literal["always", "asked"] = "asked"
    thinks: Callable[[Body], bool] = lambda _: False
    thoughts_in: Literal["reasoning_content", "reasoning"] = "reasoning_content"
    preamble: bytes = b""

    def __call__(self, request: StubRequest) -> StubReply:
        """Answer one request, as `StubServer` asks for it."""
        if request.method == "GET":
            return self._listing()
        body: Body = request.json
        tokens = len(json.dumps(body["messages"])) // _CHARS_PER_TOKEN
        if tokens > self.window:
            return self._refusal(400, self.overflow.format(tokens=tokens, window=self.window))
        for refusal in self.refusals:
            if refusal.when(body):
                return self._refusal(refusal.status, refusal.words.format(model=body["model"]))
        message = self._message(body)
        usage = Usage(input_tokens=max(tokens, 1), output_tokens=max(len(message.text) // _CHARS_PER_TOKEN, 1))
        return self._reply(body, message, usage)

    def _message(self, body: Body) -> Message:
        thoughts: tuple[Part, ...] = (Thinking(text=_THOUGHT),) if self.thinks(body) else ()
        return Message(role="assistant", parts=(*thoughts, *self._said(body)), source="model")

    def _said(self, body: Body) -> tuple[Part, ...]:
        if body.get("tools") and body.get("tool_choice") == "required" and self.required != "ignored":
            if self.required == "silence":
                return ()
            function = body["tools"][0]["function"]
            return (ToolCall(name=function["name"], arguments=smallest_instance(function["parameters"])),)
        schema = _schema(body) if self.honours_schema else None
        return (Text(text=WORDS if schema is None else json.dumps(smallest_instance(schema))),)

    def _reply(self, body: Body, message: Message, usage: Usage) -> StubReply:
        if self.wire == "ollama":
            return ndjson_reply(ollama_stream(message, usage=usage, model=body["model"]))
        events = openai_stream(message, usage=usage, model=body["model"])
        if self.counts == "asked" and not body.get("stream_options", {}).get("include_usage"):
            events = [event for event in events if b'"usage"' not in event]
        renamed = [event.replace(b'"reasoning_content"', f'"{self.thoughts_in}"'.encode()) for event in events]
        return sse_reply([self.preamble, *renamed])

    def _refusal(self, status: int, words: str) -> StubReply:
        return json_reply(self.error(status, words), status=status)

    def _listing(self) -> StubReply:
        if self.wire == "ollama":
            return json_reply({"models": [{"name": "m", "model": "m", "size": 1}]})
        return json_reply({"object": "list", "data": [{"id": "m", "object": "model"}]})


def _schema(body: Body) -> Body | None:
    """Return the schema that the reply is to fit: Ollama's `format`, or `response_format` of chat completions."""
    wanted = body.get("format")
    if isinstance(wanted, Mapping):
        return wanted
    wanted = body.get("response_format")
    if not isinstance(wanted, Mapping) or wanted.get("type") != "json_schema":
        return None
    schema: Body = wanted["json_schema"]["schema"]
    return schema
