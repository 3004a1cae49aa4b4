"""Read what was sent to a server back into messages, and hold it to the laws."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from ..types.messages import Image, Message, Part, Text, ToolCall, ToolResult, user
from .requests import check_history

_ROLES = ("system", "user", "assistant", "tool")


_TAIL = "[Turn context]"
_MOST_KEPT = 64  # bodies that a new one is compared with


class BodyChecker:
    """Holds the bodies that one server gets to both laws, as far as a body tells which conversation it is from.

    A body goes on with an earlier one when it begins with its messages, the tail aside. One that shares a beginning
    with an answer in it and then says something else, without being shorter, breaks the prefix law. So does another
    system prompt before the same conversation.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[str, list[str]]] = deque(maxlen=_MOST_KEPT)

    def check(self, body: object) -> None:
        """Hold one more body to the laws.

        Raises:
            AssertionError: saying what breaks which law.
        """
        check_body(body)
        if not isinstance(body, Mapping) or not body.get("messages"):
            return
        messages = messages_of(body)
        system = "".join(message.text for message in messages if message.role == "system")
        history = [_flat(message) for message in messages if message.role != "system"]
        shared = [(_shared(known, history), known, before) for before, known in self._seen]
        self._seen.append((system, history))
        if goes_on := [before for count, known, before in shared if count == len(known) and count > 1]:
            assert system in goes_on, "the system prompt changed in the middle of a conversation"
            return
        for count, known, _ in shared:
            is_same = any(text.startswith("\n<assistant>") for text in known[:count])
            assert not is_same or _is_shorter(history, known, count), (
                f"the prefix changed: {known[count][:200]!r} became {history[count][:200]!r}"
            )


def _shared(before: list[str], after: list[str]) -> int:
    """Count the messages that `after` begins with; the last of `before` counts when its words, less a tail, stand."""
    count = next((at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), None)
    if count is None:
        return min(len(before), len(after))
    words = before[count].partition(_TAIL)[0].rstrip()
    return count + (count == len(before) - 1 and (words == _flat(user("")) or after[count].startswith(words)))


def _is_shorter(after: list[str], before: list[str], at: int) -> bool:
    """Tell whether a compaction may lie between, or whether it is another conversation that only begins alike."""
    return len(after) <= len(before) or len(after[at]) < len(before[at].partition(_TAIL)[0].rstrip())


def _flat(message: Message) -> str:
    calls = "".join(f"\n<call {call.name}>{json.dumps(call.arguments, sort_keys=True)}" for call in message.tool_calls)
    results = "".join(f"\n<result>{result.content}" for result in message.tool_results)
    return f"\n<{message.role}>{message.text}{calls}{results}"


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
