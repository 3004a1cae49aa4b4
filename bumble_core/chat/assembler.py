"""Assemble a reply from the chunks of a chat completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import Overloaded
from ..failures import failure
from ..servers import Server
from ..types.inference import Completion, Delta, Finish, ModelRef
from .answer import AnswerBuilder
from .usage import read_usage

_FINISHES: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
}
_REASONING = ("reasoning_content", "reasoning", "thinking")  # the first that says something counts
_FAILED = {"error", "insufficient_system_resource"}  # OpenRouter, DeepSeek: the model died on the way
_CUT = {"abort", "aborted", "cancelled"}  # vLLM and SGLang, when somebody stopped the generation


class ChatAssembler:
    """Takes chunks, or one whole `chat.completion`, and gives deltas; then the completion.

    `estimate` gives the request's tokens and is asked only when the server counts none. `server` names who is
    answering, for errors.
    """

    def __init__(
        self, model: ModelRef, estimate: Callable[[], int] | None = None, server: Server | None = None
    ) -> None:
        self._answer = AnswerBuilder(model, server)
        self._estimate = estimate
        self._is_aborted = False

    @property
    def finished(self) -> bool:
        """True once the server said how the answer ended; counts of tokens may still follow."""
        return self._answer.finish is not None

    def feed(self, chunk: Mapping[str, object]) -> list[Delta]:
        """Take the next chunk and return what it adds; what it does not say is passed over.

        Raises:
            InferenceError: the chunk is an error.
        """
        self.take(chunk)
        return self.fresh()

    def take(self, chunk: Mapping[str, object]) -> None:
        """Take the next chunk as `feed` does; what it adds is kept for `fresh`."""
        if "error" in chunk or chunk.get("object") == "error" or chunk.get("type") == "error":
            self._refuse(chunk)
        if "usage" in chunk or "timings" in chunk:
            self._answer.usage = read_usage(chunk) or self._answer.usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        self._answer.began = True
        said = choice.get("delta") or choice.get("message")
        if isinstance(said, dict):
            self._say(said)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self._finish(reason, choice)

    def fresh(self) -> list[Delta]:
        """Return what was added since the last time, as one delta, or none."""
        return self._answer.fresh()

    def close(self) -> None:
        """Take words as whole when the server says that its reply is over and not how; many small ones do.

        Calls are not: they may have been cut by their length.
        """
        answer = self._answer
        if answer.finish is None and answer.has_words and not answer.calls and not self._is_aborted:
            answer.end("stop")

    def completion(self) -> Completion:
        """Return the answer; `finish` is `cut` and there are no calls when the server never said how it ended.

        Raises:
            Filtered: the server withheld all of it.
            MalformedReply: there was no answer at all.
        """
        answer = self._answer
        return answer.completion(self._estimate() if self._estimate and answer.usage is None else 0)

    def _refuse(self, chunk: Mapping[str, object]) -> None:
        if chunk.get("error") or "error" in (chunk.get("object"), chunk.get("type")):
            raise failure(self._answer.server, None, chunk, model=self._answer.model.model)

    def _say(self, said: Mapping[str, Any]) -> None:
        for key in _REASONING:
            if isinstance(thought := said.get(key), str) and thought:
                self._answer.think(thought)
                break
        content = said.get("content")
        if isinstance(content, str):
            self._answer.say(content)
        elif isinstance(content, list):
            for part in content:
                self._part(part)
        if isinstance(refusal := said.get("refusal"), str):
            self._answer.say(refusal)
        for key in ("tool_calls", "function_call"):  # the second is the older form, still sent by some proxies
            if said.get(key):
                self._answer.calls.feed(said[key])

    def _part(self, part: object) -> None:
        """Take text, or one of Mistral's typed parts."""
        if isinstance(part, str):
            self._answer.say(part)
        elif isinstance(part, dict) and part.get("type") == "thinking":
            inner = part.get("thinking")
            pieces = (
                [p.get("text") if isinstance(p, dict) else p for p in inner] if isinstance(inner, list) else [inner]
            )
            self._answer.think("".join(piece for piece in pieces if isinstance(piece, str)))
        elif isinstance(part, dict) and isinstance(text := part.get("text"), str):
            self._answer.say(text)

    def _finish(self, reason: str, choice: Mapping[str, Any]) -> None:
        if reason in _FAILED:
            said = choice.get("error")
            if said:
                raise failure(self._answer.server, None, {"error": said}, model=self._answer.model.model)
            raise Overloaded(f"{self._answer.server} gave up in the middle of its reply (`{reason}`)")
        self._is_aborted = reason in _CUT
        if not self._is_aborted:
            self._answer.end(_FINISHES.get(reason, "stop"))
