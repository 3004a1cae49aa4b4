"""Encode a request as the body of `POST /api/chat`."""

from __future__ import annotations

from pydantic import JsonValue

from bumble_core.chat import encode_tools, tool_name
from bumble_core.types.inference import Request
from bumble_core.types.messages import Image, Message


def encode_fields(request: Request, model: str) -> dict[str, JsonValue]:
    """Return the body without its messages.

    The window is always sent: without it the server takes its own, and another size makes it load the model again.
    `truncate` off makes it refuse a prompt that is too long instead of dropping its start in silence.
    """
    body: dict[str, JsonValue] = {
        "model": model,
        "stream": True,
        "think": _think(model, thinking=request.profile.thinking),
        "truncate": False,
        "options": {
            "num_ctx": request.context_window,
            "num_predict": request.profile.max_tokens,
            "temperature": request.profile.temperature,
        },
    }
    if request.tools and request.tool_choice != "none":
        body["tools"] = list(encode_tools(request.tools))
    if request.reply_schema is not None:
        body["format"] = request.reply_schema
    return body


def _think(model: str, *, thinking: bool) -> JsonValue:
    """Return the switch; GPT-OSS always thinks and takes a level in its place (Ollama's page on thinking)."""
    if "gpt-oss" in model:
        return "medium" if thinking else "low"
    return thinking


def encode_message(message: Message) -> list[dict[str, JsonValue]]:
    """Return the entries of one message: one per result of a tool message, else one; arguments are objects here."""
    return _results(message) if message.role == "tool" else [_entry(message)]


def _entry(message: Message) -> dict[str, JsonValue]:
    entry: dict[str, JsonValue] = {"role": message.role, "content": message.text}
    images: list[JsonValue] = [part.data for part in message.parts if isinstance(part, Image)]
    if images:
        entry["images"] = images
    if message.tool_calls:
        entry["tool_calls"] = [
            {"function": {"name": tool_name(call.name), "arguments": call.arguments}} for call in message.tool_calls
        ]
    return entry


def _results(message: Message) -> list[dict[str, JsonValue]]:
    """Return the results; words that follow them in the message join the last one."""
    results: list[dict[str, JsonValue]] = [
        {"role": "tool", "tool_name": tool_name(result.name), "content": result.content}
        for result in message.tool_results
    ]
    if message.text and results:
        results[-1]["content"] = f"{message.tool_results[-1].content}\n\n{message.text}"
    return results
