"""Guess the size of a request where a server does not count."""

from __future__ import annotations

from ..memo import PerMessage
from ..types.inference import Request
from ..types.messages import Image, Message, Text, Thinking, ToolCall

_CHARS_PER_TOKEN = 4  # English prose; other scripts take more tokens, so this is a floor
_TOKENS_PER_MESSAGE = 4  # role and separators of the usual chat templates
_TOKENS_PER_IMAGE = 280


class TokenEstimate:
    """About how many tokens a request takes, its reply excluded; each message is looked at once."""

    def __init__(self) -> None:
        self._messages = PerMessage(_message)

    def __call__(self, request: Request) -> int:
        tools = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in request.tools)
        return sum(self._messages(request.messages)) + tools // _CHARS_PER_TOKEN


def _message(message: Message) -> int:
    chars, images = 0, 0
    for part in message.parts:
        if isinstance(part, Text):
            chars += len(part.text)
        elif isinstance(part, ToolCall):
            chars += len(part.name) + len(str(part.arguments))
        elif isinstance(part, Image):
            images += 1
        elif not isinstance(part, Thinking):
            chars += len(part.content)
    return chars // _CHARS_PER_TOKEN + _TOKENS_PER_MESSAGE + images * _TOKENS_PER_IMAGE
