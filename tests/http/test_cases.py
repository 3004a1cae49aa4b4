"""Cases H01 to H05 and H08, from their data, every stream at every cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from bumble_core.chat import ChatAssembler
from bumble_core.errors import Filtered, MalformedReply, Overloaded
from tests.http.streams import MODEL, Outcome, bodies, case, chat, every_cut, ollama


def same_at_every_cut(read: Callable[[list[bytes]], Outcome], body: bytes) -> Outcome:
    """Return what came of `body`, having seen that no cut changes it."""
    whole = read([body])
    for pieces in every_cut(body):
        assert read(pieces).facts == whole.facts
    return whole


@pytest.mark.parametrize("stream", case("H01")["given"]["streams"], ids=lambda stream: stream["name"])
def test_h01_framing_never_changes_the_text(stream: dict[str, str]) -> None:
    result = same_at_every_cut(chat, stream["bytes"].encode())
    assert result.completion is not None
    assert (result.text, result.completion.message.text) == (stream["expect_text"], stream["expect_text"])
    assert result.completion.finish == "stop"


def test_h02_an_error_after_text_fails_and_keeps_the_text() -> None:
    result = same_at_every_cut(chat, bodies("H02")["error_object_after_text"])
    assert result.text == "Partial answer"
    assert isinstance(result.error, Overloaded)
    assert "overloaded" in str(result.error)
    assert "503" in str(result.error)


def test_h02_a_stream_closed_inside_a_call_is_cut_and_has_no_call() -> None:
    result = same_at_every_cut(chat, bodies("H02")["closed_inside_tool_call"])
    assert (result.how, result.calls) == ("cut", ())


def test_h02_a_finish_without_done_line_is_finished_and_counted() -> None:
    result = same_at_every_cut(chat, bodies("H02")["finish_seen_but_no_done_line"])
    assert result.completion is not None
    assert (result.how, result.text) == ("finished", "All good.")
    assert (result.completion.usage.input_tokens, result.completion.usage.output_tokens) == (12, 3)


def test_h02_comments_alone_are_no_reply_but_may_be_asked_again() -> None:
    result = same_at_every_cut(chat, bodies("H02")["only_comments_then_close"])
    assert isinstance(result.error, MalformedReply)
    assert result.error.is_retryable


@pytest.mark.parametrize("name", bodies("H03"), ids=str)
def test_h03_calls_are_assembled_however_they_come(name: str) -> None:
    events = case("H03")["then"]["per_stream"][name]["events"]
    expected = [event["tool_call"] for event in events if "tool_call" in event]
    result = same_at_every_cut(chat, bodies("H03")[name])
    assert result.completion is not None
    calls = result.completion.message.tool_calls
    assert [(call.name, call.arguments, call.problem) for call in calls] == [
        (each["name"], each["arguments"], "") for each in expected
    ]
    assert all(
        call.id if each["id"] == "any" else call.id == each["id"] for call, each in zip(calls, expected, strict=True)
    )
    assert result.completion.finish == "tool_calls"


def test_h04_thinking_and_two_calls_without_ids() -> None:
    result = same_at_every_cut(ollama, bodies("H04")["thinking_then_two_calls_without_ids"])
    assert result.completion is not None
    calls, usage = result.completion.message.tool_calls, result.completion.usage
    assert (result.text, result.thinking) == ("", "Two files to read.")
    assert [(call.name, call.arguments) for call in calls] == [
        ("read_note", {"path": "ä.txt"}),
        ("read_note", {"path": "b.txt"}),
    ]
    assert calls[0].id != calls[1].id
    assert (usage.input_tokens, usage.output_tokens, result.completion.finish) == (120, 31, "tool_calls")


def test_h04_an_error_line_fails_and_keeps_the_text() -> None:
    result = same_at_every_cut(ollama, bodies("H04")["error_line_after_text"])
    assert (result.how, result.text) == ("failed", "Half an ans")
    assert "runner has stopped" in str(result.error)


def test_h04_a_prompt_that_was_read_in_part_is_warned_of() -> None:
    given = next(s for s in case("H04")["given"]["streams"] if s["name"] == "short_prompt_count")
    words = given["user_message"]["repeat"] * given["user_message"]["times"]
    with structlog.testing.capture_logs() as logs:
        result = ollama([given["bytes"].encode()], estimate=len(words) // 4)
    assert result.text == "Sure."
    assert [(entry["event"], entry["read_tokens"]) for entry in logs] == [("prompt.truncated", 2050)]


def test_h05_no_call_of_a_message_cut_by_length_may_run() -> None:
    reply: dict[str, Any] = case("H05")["given"]["scripts"]["partial_json"][0]
    assembler = ChatAssembler(MODEL)
    assembler.feed({"choices": [reply]})
    done = assembler.completion()
    assert [call.id for call in done.message.tool_calls] == ["call_1", "call_2"]
    assert all("cut" in call.problem for call in done.message.tool_calls)
    assert done.message.tool_calls[1].raw == '{"path":"two.txt","body":"cut of'


def body_of(row: dict[str, Any]) -> bytes:
    given = row.get("bytes", row.get("body"))
    if isinstance(given, dict):
        given = given.get("prefix", "") + given["repeat"] * given["times"] + given.get("suffix", "")
    return str(given).encode()


@pytest.mark.parametrize("name", ["choices_empty", "choices_null"])
def test_h08_a_reply_without_choices_is_no_reply(name: str) -> None:
    row = next(row for row in case("H08")["given"]["rows"] if row["name"] == name)
    result = same_at_every_cut(chat, body_of(row))
    assert isinstance(result.error, MalformedReply)
    assert "before it said anything" in str(result.error)


def test_h08_a_reply_withheld_by_the_filter_says_so() -> None:
    row = next(row for row in case("H08")["given"]["rows"] if row["name"] == "content_filter")
    result = same_at_every_cut(chat, body_of(row))
    assert isinstance(result.error, Filtered)
    assert not result.error.is_retryable


def test_h08_chunks_without_a_delta_are_passed_over() -> None:
    row = next(row for row in case("H08")["given"]["rows"] if row["name"] == "stream_with_filter_preamble")
    result = same_at_every_cut(chat, body_of(row))
    assert (result.how, result.text) == ("finished", "Fine.")


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"<html><title>Sign in</title></html>", "an HTML page"),
        (b"[1, 2]", "not an object"),
        (b"data: 7\n\n", "not an object"),
        (b"data: {oops\n\n", "something else than JSON"),
        (b'{"choices": [', "something else than JSON"),
        (b"", "before it said anything"),
        (b"\r\n \n", "before it said anything"),
    ],
    ids=["html", "list", "number", "no-json", "half-a-document", "empty", "blank"],
)
def test_a_body_that_is_no_reply_is_malformed(body: bytes, match: str) -> None:
    result = same_at_every_cut(chat, body)
    assert isinstance(result.error, MalformedReply)
    assert match in str(result.error)


@pytest.mark.parametrize(
    "after",
    [b"data: {oops\n\n", b'data: {"error":{"message":"late"}}\n\n', b"event: error\ndata: late\n\n", b'data: {"cho'],
    ids=["garbage", "error-object", "error-event", "half-an-event"],
)
def test_nothing_that_follows_the_finish_can_unsay_the_answer(after: bytes) -> None:
    said = {"choices": [{"delta": {"content": "Done."}, "finish_reason": "stop"}]}
    result = same_at_every_cut(chat, b"data: " + json.dumps(said).encode() + b"\n\n" + after)
    assert (result.how, result.text) == ("finished", "Done.")
