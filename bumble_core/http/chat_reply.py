"""Understand the bytes of a chat completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..chat import ChatAssembler
from ..errors import InferenceError
from ..servers import Server
from ..types.inference import Completion, Delta, ModelRef
from .objects import SseObjects


class ChatReply:
    """A streamed completion, or a whole one from a server that does not stream."""

    def __init__(self, model: ModelRef, server: Server, estimate: Callable[[], int] | None = None) -> None:
        self._objects = SseObjects(server)
        self._answer = ChatAssembler(model, estimate, server)
        self._spoilt = False

    @property
    def finished(self) -> bool:
        return self._answer.finished or self._objects.done

    @property
    def done(self) -> bool:
        return self._objects.done or self._spoilt

    def feed(self, data: bytes) -> Iterator[Delta]:
        return self._deltas(self._objects.feed(data))

    def end(self) -> Iterator[Delta]:
        return self._deltas(self._objects.end())

    def completion(self) -> Completion:
        if self._objects.done:
            self._answer.close()
        return self._answer.completion()

    def _deltas(self, chunks: Iterable[dict[str, Any]]) -> Iterator[Delta]:
        """Yield what `chunks` say as one delta; an error among them comes after it."""
        if self._spoilt:
            return
        problem: InferenceError | None = None
        try:
            for chunk in chunks:
                self._answer.take(chunk)
        except InferenceError as error:
            if self.finished:
                self._spoilt = True  # the answer was complete; what came after it cannot unsay it
            else:
                problem = error
        yield from self._answer.fresh()
        if problem is not None:
            raise problem
