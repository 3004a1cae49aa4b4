"""A model that plays the replies of a reliability case, read from the wire as the provider `openai` reads them."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from bumble_core import hookimpl
from bumble_core.http import ChatReply, Server
from bumble_core.testing import RequestChecker
from bumble_core.testing.stub_replies import sse_event
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request

REF = ModelRef(provider="scripted", model="model")


class CaseScript:
    """Plays `script` in order; the last reply repeats. Every request is held to the laws of histories and prefixes."""

    name = "scripted"

    def __init__(self, script: Sequence[dict[str, Any]]) -> None:
        self.requests: list[Request] = []
        self._checker = RequestChecker()
        self._replies = itertools.chain(script, itertools.repeat(script[-1]))

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        self.requests.append(request)
        parser = ChatReply(REF, Server(name=self.name))
        for delta in (*parser.feed(_wire(next(self._replies))), *parser.end()):
            yield delta
        yield parser.completion()

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=REF),)

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]


def _wire(reply: dict[str, Any]) -> bytes:
    calls = [{"index": place, **call} for place, call in enumerate(reply["message"].get("tool_calls", ()))]
    delta = {key: value for key, value in {**reply["message"], "tool_calls": calls}.items() if value}
    choice = {"index": 0, "delta": delta, "finish_reason": reply["finish_reason"]}
    return sse_event({"id": "c", "object": "chat.completion.chunk", "choices": [choice]}) + b"data: [DONE]\n\n"
