"""Whatever a server sends, well-formed or not: a stream ends in exactly one of finished, cut, failed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.depth import examples
from tests.http.streams import Outcome, chat, ollama
from tests.http.test_mutations import check

WORDS = st.sampled_from(["", "a", "<think>", "</think>", "🐝", "\u2028", "\ud83d", '{"a":', "}", "null", " \n"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**70) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


def mostly(expected: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Give what a server should send, and now and then anything else."""
    return st.one_of(expected, expected, expected, JUNK)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={name: mostly(each) for name, each in fields.items()})


FUNCTION = some(name=st.sampled_from(["f", "read_", "note"]), arguments=WORDS)
CALL = some(index=st.integers(0, 2), id=st.sampled_from(["a", "b", ""]), function=mostly(FUNCTION))
COUNTS = some(prompt_tokens=st.integers(), completion_tokens=st.integers(), prompt_tokens_details=JUNK)
DELTA = some(content=WORDS, reasoning_content=WORDS, tool_calls=st.lists(mostly(CALL), max_size=3), refusal=WORDS)
REASON = st.sampled_from(["stop", "length", "tool_calls", "content_filter", "error", "abort", ""])
CHUNK = some(
    choices=st.lists(mostly(some(delta=DELTA, finish_reason=REASON)), max_size=2), usage=COUNTS, timings=COUNTS
)
LINE = some(
    message=some(content=WORDS, thinking=WORDS, tool_calls=st.lists(mostly(CALL), max_size=3)),
    done=st.booleans(),
    done_reason=REASON,
    prompt_eval_count=st.integers(),
    eval_count=st.integers(),
)


def sse(chunks: list[Any], end: str) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}{end}{end}" for chunk in chunks).encode() + b"data: [DONE]"


def ndjson(lines: list[Any], end: str) -> bytes:
    return "".join(f"{json.dumps(line)}{end}" for line in lines).encode()


@pytest.mark.parametrize(
    ("read", "said", "framed"), [(chat, CHUNK, sse), (ollama, LINE, ndjson)], ids=["chat", "ollama"]
)
def test_whatever_is_said_ends_in_exactly_one_way(
    read: Callable[[list[bytes]], Outcome],
    said: st.SearchStrategy[Any],
    framed: Callable[[list[Any], str], bytes],
) -> None:
    @settings(max_examples=examples(500, 20_000), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(mostly(said), max_size=6), st.sampled_from(["\n", "\r\n"]), st.integers(0), st.integers(0))
    def holds(chunks: list[Any], end: str, place: int, length: int) -> None:
        data = framed(chunks, end)
        data = data[: length % (len(data) + 1)] if length % 3 == 0 else data
        at = place % (len(data) + 1)
        result = read([data[:at], data[at:]])
        check(result)
        assert read([data]).facts == result.facts

    holds()
