"""The size of a request is known well enough without a tokenizer. Case H15, and eleven kinds of text."""

from __future__ import annotations

import asyncio
import importlib
import json
import urllib.request
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from bumble_local import pull

from bumble_core import ToolCall, assistant, user
from bumble_core.builtin.system import SystemFiles
from bumble_core.builtin.tokens import CharacterCounter
from bumble_core.testing.llama_server import LlamaServer, llama_server
from bumble_core.text_tokens import tokens_of
from bumble_core.types.inference import Completion, ModelRef, ToolSpec, Usage
from bumble_core.types.messages import Image, Message
from tests.builtin.kinds_of_text import KINDS
from tests.http.streams import case

MODEL = ModelRef(provider="scripted", model="model")
H15 = case("H15")


def counted(text: str, counter: CharacterCounter | None = None) -> int:
    return (counter or CharacterCounter()).count((user(text),), (), MODEL)


@pytest.mark.parametrize("row", H15["given"]["rows"], ids=lambda row: row["name"])
def test_h15_each_text_is_estimated_within_its_bounds(row: dict[str, Any]) -> None:
    low, high = row["estimate_within"]
    assert low <= counted(row["sample"] * 100) <= high


def h15_history() -> list[Message]:
    chinese = next(row["sample"] for row in H15["given"]["rows"] if row["name"] == "chinese") * 10
    return [message for _ in range(18) for message in (user(chinese), assistant("ok"))]


def replying(tokens: int) -> Completion:
    return Completion(message=assistant("ok"), finish="stop", model=MODEL, usage=Usage(input_tokens=tokens))


async def test_h15_a_dense_history_is_compacted_before_it_overflows(runtime: Callable[..., Any]) -> None:
    config = H15["given"]["history"]["config"]
    sections = {
        "max_context_tokens": config["max_context_tokens"],
        "history_compression": {"compaction_threshold_ratio": config["compaction_threshold_ratio"]},
    }
    texts = [message.text for message in h15_history() if message.role == "user"]
    told = {"flush": "[]", "summary": "Goal: the user asks for the server's logs to be read."}
    replies = [lambda request: assistant(told.get(request.profile.name, "It is read, all of it."))] * 120
    built, script = runtime(*replies, cognition=sections)
    async with built:
        for text in texts:
            await built.answer(text)
    assert any(request.purpose == "compact" for request in script.requests)


@pytest.mark.parametrize("actual", [6840, 14040], ids=["leanest-tokenizer", "densest-tokenizer"])
def test_h15_what_a_server_counted_corrects_the_next_estimate(actual: int) -> None:
    counter, history = CharacterCounter(), tuple(h15_history())
    counter.learn(counter.count(history, (), MODEL), actual, MODEL)
    assert counter.count(history, (), MODEL) == pytest.approx(actual, rel=0.1)


@pytest.fixture(scope="module")
def encodings() -> Any:
    """The tables of two tokenizers; the library still opens them in a deprecated way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return importlib.import_module("bpe_openai")


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_text_is_neither_missed_nor_blown_up(kind: str, encoding: str, encodings: Any) -> None:
    actual = len(encodings.get_encoding(encoding).encode(KINDS[kind]))
    assert 0.9 <= tokens_of(KINDS[kind]) / actual <= 2.5


def test_plain_prose_takes_a_quarter_of_its_characters_and_ten() -> None:
    text = "a plain sentence of plain words without anything in it that is dense " * 10
    assert counted(text) == len(text) // 4 + 10


@pytest.mark.parametrize("length", [0, 1, 7], ids=["empty", "one", "a-word"])
def test_short_texts_cost_what_a_message_does(length: int) -> None:
    assert counted("a" * length) == length // 4 + 10


def test_calls_pictures_and_tools_are_counted() -> None:
    counter, model = CharacterCounter(), MODEL
    called = assistant("", ToolCall(name="write_file", arguments={"text": "word " * 400}))
    picture = Message(role="user", parts=(Image(media_type="image/png", data="aGk="),), source="user")
    spec = ToolSpec(name="write_file", description="Write. " * 100, parameters={"type": "object"})
    assert counter.count((called,), (), model) > 500
    assert counter.count((picture,), (), model) > 700
    assert counter.count((), (spec,), model) > 150


def test_half_a_surrogate_pair_is_counted_too() -> None:
    assert counted("\ud800 lone") > 10


def learning(reports: Sequence[tuple[int, int]]) -> float:
    counter = CharacterCounter()
    for estimated, actual in reports:
        counter.learn(estimated, actual, MODEL)
    return counted("word " * 4000, counter) / counted("word " * 4000)


@pytest.mark.parametrize(
    ("reports", "factor"),
    [
        ([(5000, 6000)], 1.2),
        ([(5000, 40)], 1.0),
        ([(100, 200)], 1.2),
        ([(0, 10), (10, 0), (-1, 5)], 1.0),
        ([(5000, 100_000)], 1.0),
    ],
    ids=["a-long-one-counts", "what-is-cached-left-out", "a-short-one-counts-little", "nothing", "beyond-belief"],
)
def test_a_report_counts_by_its_size(reports: Sequence[tuple[int, int]], factor: float) -> None:
    assert learning(reports) == pytest.approx(factor, rel=0.02)


def test_a_factor_belongs_to_one_model() -> None:
    counter = CharacterCounter()
    counter.learn(5000, 10_000, MODEL)
    assert counter.count((user("word " * 100),), (), ModelRef(model="other")) == counted("word " * 100)


def test_factors_outlive_the_process(tmp_path: Path) -> None:
    first = CharacterCounter(tmp_path, SystemFiles())
    first.learn(5000, 6000, MODEL)
    asyncio.run(first.aclose())
    second = CharacterCounter(tmp_path, SystemFiles())
    assert counted("word " * 400, second) == counted("word " * 400, first) != counted("word " * 400)


@pytest.mark.parametrize("content", [b"", b"{", b'{"factors": {"scripted:model": 99}}'], ids=["empty", "cut", "absurd"])
def test_a_file_of_factors_that_cannot_be_believed_is_not(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token_factors.json").write_bytes(content)
    assert counted("word " * 400, CharacterCounter(tmp_path, SystemFiles())) == counted("word " * 400)


def test_nothing_is_written_where_nothing_was_learned(tmp_path: Path) -> None:
    counter = CharacterCounter(tmp_path, SystemFiles())
    counted("hello", counter)
    asyncio.run(counter.aclose())
    assert list(tmp_path.iterdir()) == []


def tokenized(served: LlamaServer, text: str) -> int:
    """Ask llama.cpp how many tokens a text has; the bearer is the server's own."""
    body = json.dumps({"content": text}).encode()
    headers = {"authorization": f"Bearer {served.api_key}", "content-type": "application/json"}
    address = f"{served.base_url.removesuffix('/v1')}/tokenize"
    with urllib.request.urlopen(urllib.request.Request(address, body, headers)) as reply:
        return len(json.load(reply)["tokens"])


@pytest.mark.slow
def test_what_a_small_model_counts_is_learned_for_every_kind() -> None:
    raw, learned = {}, {}
    with llama_server(pull("smollm2"), context_tokens=512) as served:
        for kind, text in KINDS.items():
            actual, counter = tokenized(served, text), CharacterCounter()
            raw[kind] = counted(text, counter) / actual
            counter.learn(counted(text, counter), actual, MODEL)
            learned[kind] = counted(text, counter) / actual
    assert {kind: ratio for kind, ratio in learned.items() if not 0.9 <= ratio <= 2.5} == {}
    foreign = {"german", "russian", "japanese", "chinese", "thai", "korean"}  # it was made for English
    assert {kind for kind, ratio in raw.items() if not 0.9 <= ratio <= 2.5} == foreign
    assert min(raw.values()) > 0.4
