"""Readers give the same events however the bytes are cut, in linear time."""

from __future__ import annotations

import time

import pytest

from bumble_core.errors import MalformedReply
from bumble_core.http import NdjsonReader, SseReader, StreamEvent
from tests.http.streams import every_cut


def read(reader: SseReader | NdjsonReader, pieces: list[bytes]) -> list[StreamEvent]:
    return [event for piece in pieces for event in reader.feed(piece)] + reader.end()


SSE = {
    "lf": (b"data: a\n\ndata: b\n\n", ["a", "b"]),
    "crlf": (b"data: a\r\n\r\ndata: b\r\n\r\n", ["a", "b"]),
    "cr": (b"data: a\r\rdata: b\r\r", ["a", "b"]),
    "mixed-ends": (b"data: a\r\n\ndata: b\r\r\n", ["a", "b"]),
    "no-space": (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
    "several-lines": (b"data: a\ndata:\ndata: b\n\n", ["a\n\nb"]),
    "comments-and-fields": (b": hi\n\nid: 7\nretry: 3\nfoo\ndata: a\n:x\n\nevent: ping\n\n", ["a"]),
    "separators-are-data": (
        "data: one\u2028two\u0085three\x0bfour\x0cfive\n\n".encode(),
        ["one\u2028two\u0085three\x0bfour\x0cfive"],
    ),
    "byte-order-mark": (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
    "many-bytes-a-character": ("data: Grüße 漢字 🐝\n\n".encode(), ["Grüße 漢字 🐝"]),
    "colon-in-data": (b"data: a: b:c\n\n", ["a: b:c"]),
}


@pytest.mark.parametrize(("body", "events"), SSE.values(), ids=SSE.keys())
def test_sse_events_are_the_same_at_every_cut(body: bytes, events: list[str]) -> None:
    for pieces in every_cut(body):
        assert [event.data for event in read(SseReader(), pieces)] == events


def test_an_event_at_the_end_without_its_blank_line_is_known_as_unterminated() -> None:
    for pieces in every_cut(b"data: a\n\nevent: error\ndata: b"):
        assert read(SseReader(), pieces) == [StreamEvent("a"), StreamEvent("b", "error", terminated=False)]


def test_an_event_has_the_name_of_its_own_event_line_only() -> None:
    events = read(SseReader(), [b"event: error\n\ndata: a\n\nevent: x\ndata: b\n\n"])
    assert events == [StreamEvent("a"), StreamEvent("b", "x")]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_ndjson_lines_are_the_same_at_every_cut(end: bytes) -> None:
    body = b"\xef\xbb\xbf" + end.join(['{"a":"ü\u2028"}'.encode(), b"", b"  ", b'{"b":1}', b'{"c"'])
    expected = [StreamEvent('{"a":"ü\u2028"}'), StreamEvent('{"b":1}'), StreamEvent('{"c"', terminated=False)]
    for pieces in every_cut(body):
        assert read(NdjsonReader(), pieces) == expected


@pytest.mark.parametrize("reader", [SseReader(100), NdjsonReader(100)], ids=["sse", "ndjson"])
@pytest.mark.parametrize("size", [1, 7, 400], ids=["bytes", "pieces", "whole"])
def test_an_event_beyond_the_bound_is_refused(reader: SseReader | NdjsonReader, size: int) -> None:
    body = b"data: " + b"x" * 200 + b"\n\n"
    with pytest.raises(MalformedReply, match="larger than 100 bytes"):
        read(reader, [body[at : at + size] for at in range(0, len(body), size)])


def test_many_short_lines_of_one_event_count_together() -> None:
    with pytest.raises(MalformedReply, match="larger than 100 bytes"):
        SseReader(100).feed(b"data: 0123456789\n" * 12)


def test_a_long_line_in_small_pieces_takes_linear_time() -> None:
    def seconds(count: int) -> float:
        reader, began = SseReader(), time.process_time()
        for _ in range(count):
            reader.feed(b"x" * 16)
        reader.end()
        return time.process_time() - began

    seconds(1_000)
    assert seconds(200_000) < 40 * seconds(20_000) + 0.2  # ten times the bytes; a hundred times if it were quadratic
