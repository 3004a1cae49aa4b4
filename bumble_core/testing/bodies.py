"""Read what was sent to a server back into messages, and hold it to the laws."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from ..types.messages import Image, Message, Part, Text, ToolCall, ToolResult
from .requests import check_history

_ROLES = ("system", "user", "assistant", "tool")


def check_body(body: object) -> None:
    """Hold the body of a chat request to the laws; a body without messages is passed over.

    Beside the law of histories: each tool has a name of its own and an object for its parameters, and a choice of
    tools comes with tools.

    Raises:
        AssertionError: saying what breaks which law.
    """
    if not isinstance(body, Mapping) or "messages" not in body:
        return
    check_history(messages_of(body))
    tools = body.get("tools", [])
    assert isinstance(tools, list), "`tools` is a list"
    names = [tool["function"]["name"] for tool in tools]
    assert len(set(names)) == len(names), f"two tools of one name: {names}"
    for tool in tools:
        parameters = tool["function"].get("parameters")
        assert isinstance(parameters, Mapping), f"`{tool['function']['name']}` has no parameters"
        assert parameters.get("type") == "object", f"`{tool['function']['name']}` does not take an object"
    assert tools or "tool_choice" not in body, "`tool_choice` without `tools`"


def messages_of(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the messages of a body of `/chat/completions` or of Ollama's `/api/chat`.

    The second has no ids: results belong to the calls before them in their order.

    Raises:
        AssertionError: a message is none that such a server takes.
    """
    messages: list[Message] = []
    unanswered: deque[ToolCall] = deque()
    for place, entry in enumerate(body["messages"]):
        role = entry.get("role")
        assert role in _ROLES, f"message {place}: no role {role!r}"
        calls = [_call(call, place) for call in entry.get("tool_calls", [])]
        if role == "tool":
            parts: list[Part] = [_result(entry, unanswered, place)]
        else:
            parts = [*_content(entry, place), *calls]
        unanswered.extend(calls)
        messages.append(Message(role=role, parts=tuple(parts), source="tool" if role == "tool" else "kernel"))
    return tuple(messages)


def _content(entry: Mapping[str, Any], place: int) -> list[Part]:
    content = entry.get("content")
    pictures: list[Part] = [Image(media_type="image/png", data=data) for data in entry.get("images", [])]
    if content is None:
        assert entry.get("tool_calls"), f"message {place}: neither content nor calls"
        return []
    if isinstance(content, str):
        return [Text(text=content), *pictures] if content else pictures
    assert isinstance(content, list), f"message {place}: content is a text or a list, not {type(content).__name__}"
    return [_typed(part) for part in content]


def _typed(part: Mapping[str, Any]) -> Part:
    if part["type"] == "text":
        return Text(text=part["text"])
    return Image(media_type="image/png", data=part["image_url"]["url"])


def _call(call: Mapping[str, Any], place: int) -> ToolCall:
    function = call["function"]
    arguments = function["arguments"]
    if "id" in call:  # chat completions: arguments are the text of an object
        assert isinstance(arguments, str), f"message {place}: the arguments of `{call['id']}` are no text"
        arguments = json.loads(arguments)
    assert isinstance(arguments, dict), f"message {place}: the arguments of `{function['name']}` are no object"
    made = ToolCall(name=function["name"], arguments=arguments)
    return made.model_copy(update={"id": call["id"]}) if "id" in call else made


def _result(entry: Mapping[str, Any], unanswered: deque[ToolCall], place: int) -> ToolResult:
    assert isinstance(entry.get("content"), str), f"message {place}: the content of a result is a text"
    assert unanswered, f"message {place}: a result without a call"
    call = unanswered.popleft()
    name = entry.get("tool_name", call.name)
    assert name == call.name, f"message {place}: a result of `{name}` where one of `{call.name}` was due"
    return ToolResult(call_id=entry.get("tool_call_id", call.id), name=name, content=entry["content"])
