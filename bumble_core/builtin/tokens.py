"""Count tokens by characters: the documented estimator, corrected by what servers report."""

from __future__ import annotations

import json

from ..memo import PerMessage
from ..types.inference import ModelRef, ToolSpec
from ..types.messages import Image, Message, Text, Thinking, ToolCall, ToolResult

_CHARACTERS_PER_TOKEN = 4  # `len(text) // 4 + 10` a message: Bumblebee's Cognition page
_PER_MESSAGE = 10
_PER_IMAGE = 765  # a 1024 x 1024 picture at OpenAI's high detail, 2024
_WIDE = 0x2E80  # from here on a character of most scripts is a token of its own
_LEARNING_RATE = 0.3
_FACTORS = (0.5, 4.0)


class CharacterCounter:
    """Counts a character of a dense script (Chinese, Japanese, Korean, emoji) as a whole token.

    Each message is read once; what a model's server reported changes only the factor.
    """

    def __init__(self) -> None:
        self._factors: dict[str, float] = {}
        self._messages = PerMessage(_message)
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)

    def count(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], model: ModelRef | None) -> int:
        if tools != self._tools[0]:  # they are the same from step to step, but for the last
            self._tools = (tools, sum(_tool(tool) for tool in tools))
        raw = sum(self._messages(messages)) + self._tools[1]
        return int(raw * self._factors.get(str(model), 1.0))

    def learn(self, estimated: int, actual: int, model: ModelRef) -> None:
        """Move the model's factor towards what its server counted; bounded, so that one odd report does no harm."""
        if estimated <= 0 or actual <= 0:
            return
        known = self._factors.get(str(model), 1.0)
        target = known * actual / estimated
        low, high = _FACTORS
        self._factors[str(model)] = min(high, max(low, known + _LEARNING_RATE * (target - known)))


def _message(message: Message) -> int:
    return _PER_MESSAGE + sum(_part(part) for part in message.parts)


def _part(part: Text | Thinking | Image | ToolCall | ToolResult) -> int:
    match part:
        case Text(text=text):
            return _text(text)
        case ToolResult(content=content):
            return _text(content)
        case ToolCall(name=name, arguments=arguments):
            return _text(name) + _text(json.dumps(arguments, ensure_ascii=False))
        case Image():
            return _PER_IMAGE
        case _:
            return 0


def _tool(tool: ToolSpec) -> int:
    return _PER_MESSAGE + _text(tool.name + tool.description + json.dumps(tool.parameters))


def _text(text: str) -> int:
    if text.isascii():
        return len(text) // _CHARACTERS_PER_TOKEN
    wide = sum(ord(character) >= _WIDE for character in text)
    return wide + (len(text) - wide) // _CHARACTERS_PER_TOKEN
