"""The reliability cases of this layer, the ways to cut bytes, and what came of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from bumble_ollama.reply import OllamaReply

from bumble_core.errors import InferenceError
from bumble_core.http import ChatReply, ReplyParser, Server
from bumble_core.types.inference import Completion, ModelRef

_CASES = Path(__file__).parents[1] / "cases" / "cases.yaml"
_READ: dict[str, dict[str, Any]] = {
    case["id"].split("_")[0]: case for case in yaml.safe_load(_CASES.read_text("utf-8"))["cases"]
}
MODEL = ModelRef(provider="stub", model="m")
SERVER = Server(name="stub", address="127.0.0.1:1")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stream gave: joined deltas, then a completion or an error."""

    text: str
    thinking: str
    completion: Completion | None = None
    error: InferenceError | None = None
    calls: tuple[tuple[str, str, str], ...] = field(default=())

    @property
    def how(self) -> str:
        if self.completion is None:
            return "failed"
        return "cut" if self.completion.finish == "cut" else "finished"

    @property
    def facts(self) -> tuple[object, ...]:
        """Everything but generated ids."""
        done = self.completion
        error = (type(self.error), str(self.error))
        rest = None if done is None else (done.finish, done.usage, done.message.text, done.message.thinking)
        return (self.text, self.thinking, error, rest, tuple(call[1:] for call in self.calls))


def case(name: str) -> dict[str, Any]:
    """Return one case by the start of its id, for example `H01`."""
    return _READ[name]


def bodies(name: str) -> dict[str, bytes]:
    """Return the streams of a case, by name."""
    return {stream["name"]: stream["bytes"].encode() for stream in case(name)["given"]["streams"]}


def every_cut(data: bytes) -> Iterator[list[bytes]]:
    """Yield `data` whole, byte by byte, and in two pieces for every place of the cut."""
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    yield from ([data[:at], data[at:]] for at in range(1, len(data)))


def chat(pieces: list[bytes]) -> Outcome:
    return outcome(ChatReply(MODEL, SERVER), pieces)


def ollama(pieces: list[bytes], estimate: int = 0) -> Outcome:
    return outcome(OllamaReply(MODEL, SERVER, estimate), pieces)


def outcome(parser: ReplyParser, pieces: list[bytes]) -> Outcome:
    """Feed a parser and say what came of it."""
    text, thinking = "", ""
    try:
        for data in (*pieces, None):
            for delta in parser.end() if data is None else parser.feed(data):
                text, thinking = text + delta.text, thinking + delta.thinking
        done = parser.completion()
    except InferenceError as error:
        return Outcome(text, thinking, error=error)
    calls = tuple((call.id, call.name, call.problem or str(call.arguments)) for call in done.message.tool_calls)
    return Outcome(text, thinking, done, calls=calls)
