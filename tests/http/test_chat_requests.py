"""Requests are encoded as servers accept them."""

from __future__ import annotations

import json

from bumble_core.chat import encode_json, encode_messages, encode_request
from bumble_core.types.messages import (
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    system,
    tool_message,
    user,
)
from tests.http.asking import READ_NOTE, request

CALL = ToolCall(id="c1", name="read_note", arguments={"path": "ü"})


def test_a_conversation_with_a_call_keeps_its_order_and_ids() -> None:
    result = tool_message(ToolResult(call_id="c1", name="read_note", content="text"))
    encoded = encode_messages((system("be"), user("hi"), assistant("", CALL), result, assistant("done")))
    call = {"id": "c1", "type": "function", "function": {"name": "read_note", "arguments": '{"path":"ü"}'}}
    assert encoded == [
        {"role": "system", "content": "be"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
        {"role": "assistant", "content": "done"},
    ]


def test_what_was_thought_is_not_sent_back() -> None:
    parts = (Thinking(text="secret"), Text(text="hi"))
    assert encode_messages([Message(role="assistant", parts=parts, source="model")]) == [
        {"role": "assistant", "content": "hi"}
    ]


def test_pictures_become_data_urls_in_their_place() -> None:
    parts = (Text(text="see"), Image(media_type="image/png", data="QUJD"), Text(text="?"))
    (encoded,) = encode_messages([Message(role="user", parts=parts, source="user")])
    assert encoded["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "?"},
    ]


def test_words_after_a_result_join_it() -> None:
    result = ToolResult(call_id="c1", name="f", content="out")
    (encoded,) = encode_messages([Message(role="tool", parts=(result, Text(text="now")), source="tool")])
    assert encoded["content"] == "out\n\nnow"


def test_a_call_of_an_impossible_tool_is_sent_back_in_a_form_that_servers_accept() -> None:
    (encoded,) = encode_messages([assistant("", ToolCall(id="c", name="rm -rf {x}", problem="no", raw="{"))])
    assert isinstance(calls := encoded["tool_calls"], list)
    assert calls[0] == {"id": "c", "type": "function", "function": {"name": "rm_-rf__x_", "arguments": "{}"}}


def test_tools_and_their_choice_are_sent_only_when_there_are_tools() -> None:
    bare = encode_request(request(tool_choice="required"), "m")
    forced = encode_request(request(tools=(READ_NOTE,), tool_choice="required"), "m")
    free = encode_request(request(tools=(READ_NOTE,)), "m", stream=False)
    assert "tools" not in bare
    assert "tool_choice" not in bare
    assert forced["tool_choice"] == "required"
    assert "tool_choice" not in free
    assert "stream_options" not in free
    assert forced["stream_options"] == {"include_usage": True}
    assert (forced["max_tokens"], forced["temperature"], forced["model"]) == (64, 0.5, "m")


def test_json_is_utf8_and_never_holds_half_a_character() -> None:
    body = encode_json({"a": "ü🐝", "b": ["x\ud800", {"\udfff": "\ud83d\udc1d"}], "c": float("inf")})
    assert "ü🐝".encode() in body
    assert json.loads(body) == {"a": "ü🐝", "b": ["x\ufffd", {"\ufffd": "🐝"}], "c": None}
