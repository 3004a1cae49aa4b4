"""Gather one answer, whatever the shape of the stream that it came in."""

from __future__ import annotations

from ..errors import Filtered, InferenceError, MalformedReply
from ..servers import Server
from ..types.inference import Completion, Delta, Finish, ModelRef, Usage
from ..types.messages import Message, Part, Text, Thinking, ToolCall
from .calls import CallAssembler
from .text import ThoughtSplitter, whole_characters

_CUT_BY_LENGTH = "the message was cut at its maximum length, so this call may be incomplete and was not run"
_CHARS_PER_TOKEN = 4


class AnswerBuilder:
    """Text, thoughts, calls and how it ended; gives the completion at any moment."""

    def __init__(self, model: ModelRef, server: Server | None = None) -> None:
        self.model = model
        self.server = server or Server(name=str(model))
        self.calls = CallAssembler()
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.began = False
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._told = (0, 0)
        self._splitter = ThoughtSplitter()

    def say(self, text: str) -> None:
        """Add a piece of the reply's text."""
        if self._splitter.passes(text):
            self._text.append(text)
        elif text:
            self._keep(self._splitter.feed(text))

    def think(self, text: str) -> None:
        """Add a piece of reasoning that came in a field of its own."""
        if text:
            self._thinking.append(whole_characters(text))

    @property
    def has_words(self) -> bool:
        return any(map(str.strip, self._text))

    def end(self, finish: Finish) -> None:
        """Note that the server said how the answer ended."""
        self.finish = finish
        self._keep(self._splitter.end())

    def fresh(self) -> list[Delta]:
        """Return what was added since the last time, as one delta, or none."""
        text, thinking = "".join(self._text[self._told[0] :]), "".join(self._thinking[self._told[1] :])
        self._told = (len(self._text), len(self._thinking))
        return [Delta(text, thinking)] if text or thinking else []

    def completion(self, input_estimate: int) -> Completion:
        """Return the answer; `cut`, without its calls, when the server never said how it ended.

        Raises:
            Filtered: the server withheld all of it.
            MalformedReply: there was no answer at all.
        """
        self._keep(self._splitter.end())
        if not self.began and self.finish is None:
            raise self.silence()
        finish = self.finish or "cut"
        calls = self._closed_calls(finish)
        text = "".join(self._text)
        if finish == "filtered" and not text.strip() and not calls:
            raise Filtered(f"{self.server} withheld the reply of `{self.model}`: its content filter refused it")
        if finish in ("stop", "tool_calls"):
            finish = "tool_calls" if calls else "stop"
        return Completion(
            message=Message(role="assistant", parts=self._parts(text, calls), source="model"),
            finish=finish,
            model=self.model,
            usage=self.usage or self._guess(input_estimate, text, calls),
        )

    def silence(self) -> InferenceError:
        """Return the error for a reply that said nothing."""
        error = MalformedReply(f"{self.server} ended its reply before it said anything")
        error.is_retryable = True  # nothing was understood because nothing came; the next time it may
        return error

    def _closed_calls(self, finish: Finish) -> tuple[ToolCall, ...]:
        if finish in ("cut", "filtered"):
            return ()
        return self.calls.calls(_CUT_BY_LENGTH if finish == "length" else "")

    def _parts(self, text: str, calls: tuple[ToolCall, ...]) -> tuple[Part, ...]:
        thinking = "".join(self._thinking)
        thoughts: tuple[Part, ...] = (Thinking(text=thinking),) if thinking.strip() else ()
        words: tuple[Part, ...] = (Text(text=text),) if text else ()
        return (*thoughts, *words, *calls)

    def _guess(self, input_estimate: int, text: str, calls: tuple[ToolCall, ...]) -> Usage:
        chars = len(text) + sum(map(len, self._thinking)) + sum(len(c.name) + len(str(c.arguments)) for c in calls)
        return Usage(input_tokens=input_estimate, output_tokens=-(-chars // _CHARS_PER_TOKEN), estimated=True)

    def _keep(self, delta: Delta) -> None:
        if delta.text:
            self._text.append(delta.text)
        if delta.thinking:
            self._thinking.append(delta.thinking)
