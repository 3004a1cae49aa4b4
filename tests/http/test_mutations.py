"""Ten thousand damaged streams: each ends in exactly one of finished, cut, failed, and never in a half call."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from bumble_core.testing.stub_replies import ollama_stream, openai_stream
from bumble_core.types.messages import Message, Text, Thinking, ToolCall
from tests.depth import examples
from tests.http.streams import Outcome, bodies, case, chat, ollama

EXAMPLES = examples(3_500, 170_000)  # of each of three: 10,000 streams, 500,000 when deep
_ANSWER = Message(
    role="assistant",
    parts=(
        Thinking(text="Let me see."),
        Text(text="Grüße 🐝\u2028 <b>"),
        ToolCall(id="call_a", name="read_note", arguments={"path": "ä.txt", "n": [1, {"x": None}]}),
        ToolCall(id="call_b", name="list_notes"),
    ),
    source="model",
)
_TAGGED = Message(role="assistant", parts=(Text(text="<think>hm</think>\nSo."),), source="model")
_WORDS = (
    b"\n",
    b"\r",
    b"\n\n",
    b"data: ",
    b"[DONE]",
    b"null",
    b"{",
    b"}",
    b"[",
    b'"',
    b"\\ud83d",
    b"\xff",
    b"1e999",
    b"<think>",
)
_FILTERED = next(row for row in case("H08")["given"]["rows"] if row["name"] == "stream_with_filter_preamble")
CHAT = [
    *bodies("H01").values(),
    *bodies("H02").values(),
    *bodies("H03").values(),
    _FILTERED["bytes"].encode(),
    b"".join(openai_stream(_ANSWER)),
    b"".join(openai_stream(_TAGGED, finish="length")),
]
OLLAMA = [*bodies("H04").values(), b"".join(ollama_stream(_ANSWER)), b"".join(ollama_stream(_TAGGED, reason="length"))]


def damaged(chance: random.Random, streams: list[bytes]) -> bytes:
    data = bytearray(chance.choice(streams))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 2, 5, 40, 400)))
        change = chance.randrange(6)
        if change == 0:
            del data[at:to]
        elif change == 1:
            data[at:at] = chance.choice(_WORDS)
        elif change == 2:
            data[at:at] = data[at:to]
        elif change == 3:
            del data[at:]
        elif change == 4 and data:
            data[at % len(data)] = chance.randrange(256)
        else:
            other = chance.choice(streams)
            data[at:to] = other[chance.randrange(len(other)) :][: chance.choice((3, 30, 300))]
    return bytes(data)


def cut_at_random(chance: random.Random, data: bytes) -> list[bytes]:
    places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(5)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def check(result: Outcome) -> None:
    assert (result.completion is None) != (result.error is None)
    if result.completion is None:
        return
    done = result.completion
    done.model_dump_json()  # what is stored must hold in UTF-8 and JSON
    assert len({call.id for call in done.message.tool_calls}) == len(done.message.tool_calls)
    if done.finish == "cut":
        assert not done.message.tool_calls
        assert done.message.text.startswith(result.text)
    else:
        assert done.message.text == result.text
    if done.finish == "length":
        assert all(call.problem for call in done.message.tool_calls)


@pytest.mark.parametrize(
    ("read", "streams", "seed"),
    [(chat, CHAT, 1), (chat, CHAT, 2), (ollama, OLLAMA, 3)],
    ids=["chat-1", "chat-2", "ollama"],
)
def test_each_damaged_stream_ends_in_exactly_one_way(
    read: Callable[[list[bytes]], Outcome], streams: list[bytes], seed: int
) -> None:
    chance = random.Random(seed)
    ways = {"finished": 0, "cut": 0, "failed": 0}
    for _ in range(EXAMPLES):
        data = damaged(chance, streams)
        result = read(cut_at_random(chance, data))
        check(result)
        assert read([data]).facts == result.facts, data
        ways[result.how] += 1
    assert min(ways.values()) > EXAMPLES // 35, ways
