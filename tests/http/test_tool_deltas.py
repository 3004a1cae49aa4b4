"""Calls come out whole, whatever the server leaves out, repeats or delays."""

from __future__ import annotations

from typing import Any

import pytest

from bumble_core.chat import ChatAssembler, read_arguments
from bumble_core.types.messages import ToolCall
from tests.http.streams import MODEL


def piece(name: str | None = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    return {**fields, "function": {"name": name, "arguments": arguments}}


def assembled(*chunks: list[dict[str, Any]] | dict[str, Any], finish: str = "tool_calls") -> tuple[ToolCall, ...]:
    assembler = ChatAssembler(MODEL)
    for entries in chunks:
        assembler.feed({"choices": [{"delta": {"tool_calls": entries}, "finish_reason": None}]})
    assembler.feed({"choices": [{"delta": {}, "finish_reason": finish}]})
    return assembler.completion().message.tool_calls


A, B = '{"p":"a"}', '{"p":"b"}'
TWO = [("f", {"p": "a"}), ("f", {"p": "b"})]
ROWS: dict[str, tuple[list[Any], list[tuple[str, dict[str, Any]]]]] = {
    "no-index": ([[piece("f", '{"p"', id="1")], [piece(None, ':"a"}')], [piece("f", B, id="2")]], TWO),
    "index-always-0-no-ids": ([[piece("f", A, index=0)], [piece("f", B, index=0)]], TWO),
    "no-index-no-ids": (
        [
            [
                piece("f", '{"p":'),
            ],
            [piece("", '"a"}')],
            [piece("f", B)],
        ],
        TWO,
    ),
    "two-in-one-chunk": ([[piece("f", A, index=0), piece("f", B, index=0)]], TWO),
    "two-without-arguments-in-one-chunk": ([[piece("f"), piece("g")]], [("f", {}), ("g", {})]),
    "same-id-different-index": ([[piece("f", A, index=0, id="x")], [piece("f", B, index=1, id="x")]], TWO),
    "ids-interleaved-at-one-index": (
        [
            [piece("f", '{"p"', index=0, id="1")],
            [piece("f", '{"p"', index=0, id="2")],
            [piece(None, ':"a"}', index=0, id="1")],
            [piece(None, ':"b"}', index=0, id="2")],
        ],
        TWO,
    ),
    "late-id": ([[piece("f", '{"p":', index=0)], [piece(None, '"a"}', index=0, id="late")]], TWO[:1]),
    "name-in-pieces": ([[piece("read_", None, index=0, id="1")], [piece("note", None, index=0)]], [("read_note", {})]),
    "name-grows": ([[piece("read", None, index=0)], [piece("read_note", None, index=0)]], [("read_note", {})]),
    "name-repeated": (
        [[piece("f", '{"p":', index=0)], [piece("f", '"a"}', index=0)], [piece("f", "", index=0)]],
        TWO[:1],
    ),
    "arguments-as-object": ([[piece("f", {"p": "a"}, index=0, id="1")]], TWO[:1]),
    "an-object-in-place-of-a-list": ([piece("f", A, id="1")], TWO[:1]),
    "not-a-call": ([["junk", 7, None, piece("f", A)]], TWO[:1]),
}


@pytest.mark.parametrize(("chunks", "expected"), ROWS.values(), ids=ROWS.keys())
def test_calls_are_told_apart(chunks: list[Any], expected: list[tuple[str, dict[str, Any]]]) -> None:
    calls = assembled(*chunks)
    assert [(call.name, call.arguments) for call in calls] == expected
    assert len({call.id for call in calls}) == len(calls)
    assert not any(call.problem for call in calls)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"p": ', "not valid JSON"),
        ("[]", "must be a JSON object, not a list"),
        ('"x"', "not a text"),
        ("null", "not null"),
        ("true", "not a boolean"),
        ('{"p": NaN}', "NaN is not JSON"),
        ('{"p": 1e999}', "out of range"),
        ('{"p":' + "[" * 70 + "]" * 70 + "}", "nested deeper"),
        ('{"p":' + "[" * 100_000, "not valid JSON"),
        (A + B, "not valid JSON"),
    ],
    ids=["half", "list", "text", "null", "boolean", "nan", "infinite", "deep", "endless", "two-objects"],
)
def test_arguments_that_cannot_be_used_are_kept_with_their_problem(raw: str, problem: str) -> None:
    (call,) = assembled([piece("f", raw, id="1")])
    assert problem in call.problem
    assert (call.arguments, call.raw) == ({}, raw)


@pytest.mark.parametrize("raw", ["", "  \n", "{}"], ids=["nothing", "blank", "empty-object"])
def test_no_arguments_are_an_empty_object(raw: str) -> None:
    assert read_arguments(raw) == ({}, "")


def test_halves_of_characters_in_arguments_are_mended() -> None:
    assert read_arguments(r'{"a": "\ud83d\udc1d", "b": ["\ud83d"]}') == ({"a": "🐝", "b": ["\ufffd"]}, "")


def test_a_call_without_a_name_must_not_run() -> None:
    (call,) = assembled([piece(None, "{}", index=0)])
    assert "names no tool" in call.problem


def test_the_older_function_call_is_a_call() -> None:
    assembler = ChatAssembler(MODEL)
    assembler.feed({"choices": [{"delta": {"function_call": {"name": "f", "arguments": '{"p":'}}}]})
    assembler.feed({"choices": [{"delta": {"function_call": {"arguments": '"a"}'}}, "finish_reason": "function_call"}]})
    done = assembler.completion()
    assert [(call.name, call.arguments) for call in done.message.tool_calls] == TWO[:1]
    assert done.finish == "tool_calls"


def test_calls_with_a_finish_of_stop_are_calls_all_the_same() -> None:
    assembler = ChatAssembler(MODEL)
    assembler.feed({"choices": [{"delta": {"tool_calls": [piece("f", A)]}, "finish_reason": "stop"}]})
    assert assembler.completion().finish == "tool_calls"


def test_a_finish_of_tool_calls_without_any_is_a_stop() -> None:
    assembler = ChatAssembler(MODEL)
    assembler.feed({"choices": [{"delta": {"content": "hi"}, "finish_reason": "tool_calls"}]})
    assert assembler.completion().finish == "stop"


def test_long_arguments_in_small_pieces_with_the_name_in_each_stay_one_call() -> None:
    pieces = [[piece("f", text, index=0)] for text in ('{"p":"', *["x}"] * 5_000, '"}')]
    (call,) = assembled(*pieces)
    assert call.arguments == {"p": "x}" * 5_000}
