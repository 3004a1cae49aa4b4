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

    @property
    def finished(self) -> bool:
        """True once the server said how the answer ended; counts of tokens may still follow."""
        return self._answer.finish is not None

    def feed(self, chunk: Mapping[str, object]) -> list[Delta]:
        """Take the next chunk; what it does not say is passed over.

        Raises:
            InferenceError: the chunk is an error.
        """
        if chunk.get("error") or "error" in (chunk.get("object"), chunk.get("type")):
            raise failure(self._answer.server, None, chunk, model=self._answer.model.model)
        self._answer.usage = read_usage(chunk) or self._answer.usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            return []
        self._answer.began = True
        said = choice.get("delta") or choice.get("message")
        deltas = self._say(said) if isinstance(said, Mapping) else []
        reason = choice.get("finish_reason")
        return deltas + self._finish(reason, choice) if isinstance(reason, str) and reason else deltas

    def completion(self) -> Completion:
        """Return the answer; `finish` is `cut` and there are no calls when the server never said how it ended.

        Raises:
            Filtered: the server withheld all of it.
            MalformedReply: there was no answer at all.
        """
        answer = self._answer
        return answer.completion(self._estimate() if self._estimate and answer.usage is None else 0)

    def _say(self, said: Mapping[str, Any]) -> list[Delta]:
        reasoning = next((t for key in _REASONING if isinstance(t := said.get(key), str) and t), "")
        deltas = self._answer.think(reasoning)
        content = said.get("content")
        for part in content if isinstance(content, list) else [content]:
            deltas += self._part(part)
        if isinstance(refusal := said.get("refusal"), str):
            deltas += self._answer.say(refusal)
        for key in ("tool_calls", "function_call"):  # the second is the older form, still sent by some proxies
            if said.get(key):
                self._answer.calls.feed(said[key])
        return deltas

    def _part(self, part: object) -> list[Delta]:
        """Take text, or one of Mistral's typed parts."""
        if isinstance(part, str):
            return self._answer.say(part)
        if not isinstance(part, Mapping):
            return []
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            pieces = (
                [p.get("text") if isinstance(p, Mapping) else p for p in inner] if isinstance(inner, list) else [inner]
            )
            return self._answer.think("".join(piece for piece in pieces if isinstance(piece, str)))
        text = part.get("text")
        return self._answer.say(text) if isinstance(text, str) else []

    def _finish(self, reason: str, choice: Mapping[str, Any]) -> list[Delta]:
        if reason in _FAILED:
            said = choice.get("error")
            if said:
                raise failure(self._answer.server, None, {"error": said}, model=self._answer.model.model)
            raise Overloaded(f"{self._answer.server} gave up in the middle of its reply (`{reason}`)")
        return [] if reason in _CUT else self._answer.end(_FINISHES.get(reason, "stop"))
