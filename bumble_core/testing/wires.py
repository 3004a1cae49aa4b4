"""The shapes that providers read, as the conformance suite writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from ..types.inference import Usage
from ..types.messages import Message
from .stub_replies import json_reply, ndjson_line, ndjson_reply, ollama_stream, openai_stream, sse_event, sse_reply
from .stub_server import StubReply

COUNTED = Usage(input_tokens=12, output_tokens=3)
_PIECE = 7  # characters of a text that travel together


class Wire(Protocol):
    """How a server speaks: give one of your own to test a provider whose server speaks neither of those below.

    `answer` gives the parts of a streamed answer that says `message`; the first `told(parts)` bytes of them say how
    it ended. A call whose `raw` is set has these arguments. `broken` is the part that says that something failed in
    the middle of an answer. `reply` streams bytes, `refusal` is an error and `listing` a list of models.
    """

    def answer(
        self,
        message: Message,
        *,
        finish: Literal["stop", "length"] = "stop",
        usage: Usage | None = COUNTED,
        piece: int = _PIECE,
    ) -> Sequence[bytes]: ...
    def told(self, parts: Sequence[bytes]) -> int: ...
    def broken(self, words: str) -> bytes: ...
    def reply(self, parts: Sequence[bytes]) -> StubReply: ...
    def refusal(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> StubReply: ...
    def listing(self, models: Sequence[str]) -> StubReply: ...


class ChatWire:
    """OpenAI's chat completions."""

    def answer(
        self,
        message: Message,
        *,
        finish: Literal["stop", "length"] = "stop",
        usage: Usage | None = COUNTED,
        piece: int = _PIECE,
    ) -> Sequence[bytes]:
        return openai_stream(message, finish="length" if finish == "length" else "", usage=usage, piece=piece)

    def told(self, parts: Sequence[bytes]) -> int:
        place = next(i for i, part in enumerate(parts) if b'"finish_reason": "' in part)
        return sum(map(len, parts[:place])) + len(parts[place].rstrip())

    def broken(self, words: str) -> bytes:
        return sse_event({"error": {"message": words, "code": 503}})

    def reply(self, parts: Sequence[bytes]) -> StubReply:
        return sse_reply(parts)

    def refusal(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> StubReply:
        return json_reply({"error": {"message": words, "type": None, "code": None}}, status=status, headers=headers)

    def listing(self, models: Sequence[str]) -> StubReply:
        return json_reply({"object": "list", "data": [{"id": model, "object": "model"} for model in models]})


class OllamaWire:
    """Ollama's `/api/chat`."""

    def answer(
        self,
        message: Message,
        *,
        finish: Literal["stop", "length"] = "stop",
        usage: Usage | None = COUNTED,
        piece: int = _PIECE,
    ) -> Sequence[bytes]:
        return ollama_stream(message, reason=finish, usage=usage, piece=piece)

    def told(self, parts: Sequence[bytes]) -> int:
        return len(b"".join(parts).rstrip())

    def broken(self, words: str) -> bytes:
        return ndjson_line({"error": words})

    def reply(self, parts: Sequence[bytes]) -> StubReply:
        return ndjson_reply(parts)

    def refusal(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> StubReply:
        return json_reply({"error": words}, status=status, headers=headers)

    def listing(self, models: Sequence[str]) -> StubReply:
        return json_reply({"models": [{"name": model, "model": model} for model in models]})


CHAT: Wire = ChatWire()
OLLAMA: Wire = OllamaWire()
