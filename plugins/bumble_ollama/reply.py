"""Understand the bytes of an answer of `/api/chat`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import structlog

from bumble_core.chat import AnswerBuilder
from bumble_core.errors import InferenceError
from bumble_core.http import NdjsonObjects, Server, failure
from bumble_core.types.base import new_id
from bumble_core.types.inference import Completion, Delta, ModelRef, Usage

log = structlog.get_logger(__name__)


class OllamaReply:
    """A streamed answer; `estimate` is the request's size in tokens, to notice when the server read less of it."""

    def __init__(self, model: ModelRef, server: Server, estimate: int = 0) -> None:
        self._server = server
        self._objects = NdjsonObjects(server)
        self._answer = AnswerBuilder(model, server)
        self._estimate = estimate

    @property
    def finished(self) -> bool:
        return self._answer.finish is not None

    @property
    def done(self) -> bool:
        return self.finished

    def feed(self, data: bytes) -> Iterator[Delta]:
        return self._deltas(self._objects.feed(data))

    def end(self) -> Iterator[Delta]:
        return self._deltas(self._objects.end())

    def completion(self) -> Completion:
        completion = self._answer.completion(self._estimate)
        read = completion.usage.input_tokens
        if not completion.usage.estimated and 0 < read < self._estimate // 2:
            log.warning("prompt.truncated", model=str(completion.model), read_tokens=read, sent_tokens=self._estimate)
        return completion

    def _deltas(self, lines: Iterable[dict[str, Any]]) -> Iterator[Delta]:
        """Yield what `lines` say as one delta; an error among them comes after it."""
        if self.done:
            return
        problem: InferenceError | None = None
        try:
            for line in lines:
                self._line(line)
        except InferenceError as error:
            problem = None if self.finished else error
        yield from self._answer.fresh()
        if problem is not None:
            raise problem

    def _line(self, line: Mapping[str, Any]) -> None:
        if self.finished:
            return
        if line.get("error"):
            raise failure(self._server, None, line, model=self._answer.model.model)
        message = line.get("message")
        if isinstance(message, dict):
            self._answer.began = True
            self._say(message)
        if line.get("done") is True:
            self._count(line)
            self._answer.end("length" if line.get("done_reason") == "length" else "stop")

    def _say(self, message: Mapping[str, Any]) -> None:
        thinking, content, calls = message.get("thinking"), message.get("content"), message.get("tool_calls")
        if isinstance(thinking, str):
            self._answer.think(thinking)
        if isinstance(content, str):
            self._answer.say(content)
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, Mapping):  # each is whole, so an id of its own keeps it apart
                self._answer.calls.feed({"id": new_id("call"), "function": call.get("function")})

    def _count(self, line: Mapping[str, Any]) -> None:
        read, written = line.get("prompt_eval_count"), line.get("eval_count")
        if isinstance(read, int) and isinstance(written, int):
            self._answer.usage = Usage(input_tokens=max(read, 0), output_tokens=max(written, 0))
