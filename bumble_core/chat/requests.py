"""Encode a request as the body of `POST /chat/completions`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pydantic_core
from pydantic import JsonValue

from ..types.inference import Request, ToolSpec
from ..types.messages import Image, Message, Text, ToolCall
from .text import whole_characters

_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64  # OpenAI's limit; longer names in the history make it refuse the whole request


def encode_request(request: Request, model: str, *, stream: bool = True) -> dict[str, JsonValue]:
    """Return the whole body that asks `model`; what the model thought earlier is not sent back."""
    return {**encode_fields(request, model, stream=stream), "messages": list(encode_messages(request.messages))}


def encode_fields(request: Request, model: str, *, stream: bool = True) -> dict[str, JsonValue]:
    """Return the body without its messages."""
    body: dict[str, JsonValue] = {
        "model": model,
        "max_tokens": request.profile.max_tokens,
        "temperature": request.profile.temperature,
        "stream": stream,
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = list(encode_tools(request.tools))
        if request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    if request.reply_schema is not None:
        body["response_format"] = _reply_format(request.reply_schema)
    return body


def encode_messages(messages: Iterable[Message]) -> list[dict[str, JsonValue]]:
    """Return one entry per message, and one per result of a tool message."""
    return [entry for message in messages for entry in encode_message(message)]


def encode_message(message: Message) -> list[dict[str, JsonValue]]:
    """Return the entries of one message: one per result of a tool message, else one."""
    if message.role == "tool":
        return _results(message)
    if message.role == "assistant":
        return [_assistant(message)]
    return [{"role": message.role, "content": _content(message)}]


def encode_tools(tools: Iterable[ToolSpec]) -> list[dict[str, JsonValue]]:
    """Return the tools as functions."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in tools
    ]


def encode_json(body: Mapping[str, Any]) -> bytes:
    """Return compact UTF-8; halves of characters, which UTF-8 cannot hold, are replaced."""
    try:
        return pydantic_core.to_json(body, inf_nan_mode="null")
    except pydantic_core.PydanticSerializationError:
        return pydantic_core.to_json(_repaired(body), inf_nan_mode="null")


def tool_name(name: str) -> str:
    """Return `name` as servers accept it in a history: a model may have called a tool that cannot exist."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST_NAME] or "unnamed"


def _reply_format(schema: dict[str, JsonValue]) -> JsonValue:
    named: dict[str, JsonValue] = {"name": "reply", "strict": _is_strict(schema), "schema": schema}
    return {"type": "json_schema", "json_schema": named}


def _is_strict(schema: JsonValue) -> bool:
    """Tell whether OpenAI takes a schema as strict: each object is closed, and all its properties are required."""
    if isinstance(schema, list):
        return all(_is_strict(each) for each in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties, required = schema.get("properties"), schema.get("required")
        names = set(properties) if isinstance(properties, dict) else set()
        needed = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
        if schema.get("additionalProperties") is not False or names != needed:
            return False
    return all(_is_strict(each) for each in schema.values())


def _content(message: Message) -> JsonValue:
    if not any(isinstance(part, Image) for part in message.parts):
        return message.text
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, Text)
        else {"type": "image_url", "image_url": {"url": f"data:{part.media_type};base64,{part.data}"}}
        for part in message.parts
        if isinstance(part, Text | Image)
    ]


def _assistant(message: Message) -> dict[str, JsonValue]:
    calls = message.tool_calls
    if not calls:
        return {"role": "assistant", "content": message.text}
    return {"role": "assistant", "content": message.text or None, "tool_calls": [_call(call) for call in calls]}


def _call(call: ToolCall) -> JsonValue:
    arguments = encode_json(call.arguments).decode()
    return {"id": call.id, "type": "function", "function": {"name": tool_name(call.name), "arguments": arguments}}


def _results(message: Message) -> list[dict[str, JsonValue]]:
    """Return the results; words that follow them in the message join the last one."""
    results: list[dict[str, JsonValue]] = [
        {"role": "tool", "tool_call_id": result.call_id, "content": result.content} for result in message.tool_results
    ]
    if message.text and results:
        results[-1]["content"] = f"{message.tool_results[-1].content}\n\n{message.text}"
    return results


def _repaired(value: object) -> object:
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, Mapping):
        return {whole_characters(str(key)): _repaired(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_repaired(item) for item in value]
    return value
