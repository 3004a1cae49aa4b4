"""What was thought is kept apart from what was said; how it ended, and what it took."""

from __future__ import annotations

from typing import Any

import pytest

from bumble_core.chat import ChatAssembler
from bumble_core.errors import InvalidRequest, Overloaded
from bumble_core.http import ChatReply, Server
from bumble_core.testing.stub_replies import sse_event
from bumble_core.types.inference import Usage
from tests.http.streams import MODEL


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def heard(text: str, size: int) -> tuple[str, str, str]:
    """Return text and thoughts of the deltas, and the message's text, of `text` in pieces."""
    assembler = ChatAssembler(MODEL)
    pieces = [chunk(content=text[at : at + size]) for at in range(0, len(text), size)]
    deltas = [delta for each in (*pieces, chunk("stop")) for delta in assembler.feed(each)]
    said, thought = "".join(d.text for d in deltas), "".join(d.thinking for d in deltas)
    return said, thought, assembler.completion().message.text


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("text", "said", "thought"),
    [
        ("<think>hm</think>\n\nHi", "Hi", "hm"),
        ("\n <think>\nhm\n</think>Hi", "Hi", "\nhm\n"),
        ("<think></think>Hi", "Hi", ""),
        ("<think>a < b </thin </think>Hi", "Hi", "a < b </thin "),
        ("<think>never closed", "", "never closed"),
        ("Hi <think>there</think>", "Hi <think>there</think>", ""),
        ("<thin", "<thin", ""),
        ("<b>Hi</b>", "<b>Hi</b>", ""),
        ("  Hi", "  Hi", ""),
    ],
    ids=["usual", "blanks", "nothing", "half-a-tag", "open", "in-the-middle", "no-tag", "other-tag", "indented"],
)
def test_thoughts_between_tags_are_never_said(text: str, said: str, thought: str, size: int) -> None:
    assert heard(text, size) == (said, thought, said)


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_in_a_field_of_its_own_is_thought(key: str) -> None:
    assembler = ChatAssembler(MODEL)
    deltas = assembler.feed(chunk(**{key: "hm", "content": "Hi"})) + assembler.feed(chunk("stop"))
    message = assembler.completion().message
    assert [(d.text, d.thinking) for d in deltas] == [("Hi", "hm")]
    assert (message.text, message.thinking) == ("Hi", "hm")


def test_reasoning_that_comes_twice_is_thought_once() -> None:
    assembler = ChatAssembler(MODEL)
    assembler.feed(chunk("stop", reasoning_content="hm", reasoning="hm", content="Hi"))
    assert assembler.completion().message.thinking == "hm"


def test_typed_parts_are_told_apart() -> None:
    assembler = ChatAssembler(MODEL)
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assembler.feed(chunk("stop", content=[thought, {"type": "text", "text": "Hi"}, "!", 7, None]))
    message = assembler.completion().message
    assert (message.text, message.thinking) == ("Hi!", "hm")


def test_a_character_cut_between_two_chunks_is_whole() -> None:
    assembler = ChatAssembler(MODEL)
    deltas = [d for text in ("Hi \ud83d", "\udc1d!", "\ud83d") for d in assembler.feed(chunk(content=text))]
    deltas += assembler.feed(chunk("stop"))
    assert [delta.text for delta in deltas] == ["Hi ", "🐝!", "\ufffd"]


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("max_tokens", "length"),
        ("eos", "stop"),
        ("content_filter", "filtered"),
        ("abort", "cut"),
        ("", "cut"),
        (None, "cut"),
    ],
)
def test_the_server_s_word_for_the_end_is_understood(reason: str | None, finish: str) -> None:
    assembler = ChatAssembler(MODEL)
    assembler.feed(chunk(reason, content="Hi"))
    assert assembler.completion().finish == finish


@pytest.mark.parametrize(
    ("reason", "said", "finish"),
    [
        (None, {"content": "Hi"}, "stop"),
        (None, {"reasoning": "hm"}, "cut"),
        (None, {"content": "Hi", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}, "cut"),
        ("abort", {"content": "Hi"}, "cut"),
        ("length", {"content": "Hi"}, "length"),
    ],
    ids=["words", "thought-alone", "calls", "stopped", "told"],
)
def test_words_are_whole_where_a_server_says_that_it_is_done_and_not_how(
    reason: str | None, said: dict[str, Any], finish: str
) -> None:
    reply = ChatReply(MODEL, Server(name="stub"))
    list(reply.feed(sse_event(chunk(reason, **said)) + b"data: [DONE]\n\n"))
    assert (reply.finished, reply.completion().finish) == (True, finish)


def test_a_finish_of_error_is_a_failure() -> None:
    assembler = ChatAssembler(MODEL)
    with pytest.raises(Overloaded, match="gave up in the middle"):
        assembler.feed(chunk("error", content=""))


@pytest.mark.parametrize(
    "error",
    [
        {"object": "error", "message": "bad messages", "type": "invalid_request_error", "code": 400},
        {"error": {"message": "bad messages", "code": "400"}},
        {"type": "error", "error": {"type": "invalid_request_error", "message": "bad messages"}},
        {"error": {"code": 400, "message": "Provider returned error", "metadata": {"raw": "bad messages"}}},
        {"error": '{"error":{"code":400,"message":"bad messages"}}'},
    ],
    ids=["vllm", "openai", "anthropic", "openrouter", "nested"],
)
def test_an_error_in_a_chunk_is_raised_as_what_it_is(error: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="bad messages"):
        ChatAssembler(MODEL).feed(error)


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}},
            Usage(input_tokens=9, output_tokens=2, cached_tokens=5),
        ),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}},
            Usage(input_tokens=9, output_tokens=2, cached_tokens=4),
        ),
        (
            {"timings": {"prompt_n": 3, "cache_n": 6, "predicted_n": 2}},
            Usage(input_tokens=9, output_tokens=2, cached_tokens=6),
        ),
        ({"usage": None}, Usage(input_tokens=40, output_tokens=2, estimated=True)),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2}, "timings": {"prompt_n": 3, "cache_n": 6}},
            Usage(input_tokens=9, output_tokens=2, cached_tokens=6),
        ),
        (
            {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "cache_read_input_tokens": 5}},
            Usage(input_tokens=9, output_tokens=2, cached_tokens=5),
        ),
        (
            {
                "usage": {
                    "input_tokens": 3,
                    "output_tokens": 2,
                    "cache_read_input_tokens": 5,
                    "cache_creation_input_tokens": 1,
                }
            },
            Usage(input_tokens=9, output_tokens=2, cached_tokens=5),
        ),
        (
            {"usage": {"prompt_tokens": None, "completion_tokens": "2"}},
            Usage(input_tokens=40, output_tokens=2, estimated=True),
        ),
        (
            {"usage": {"prompt_tokens": 0, "completion_tokens": 0}},
            Usage(input_tokens=40, output_tokens=2, estimated=True),
        ),
    ],
    ids=[
        "openai",
        "deepseek",
        "llama.cpp",
        "silent",
        "llama.cpp-with-usage",
        "litellm-anthropic",
        "anthropic",
        "nonsense",
        "zeros",
    ],
)
def test_tokens_are_always_accounted(counts: dict[str, Any], usage: Usage) -> None:
    assembler = ChatAssembler(MODEL, estimate=lambda: 40)
    assembler.feed(chunk("stop", content="Hello!!!"))
    assembler.feed({"choices": [], **counts})
    assert assembler.completion().usage == usage
