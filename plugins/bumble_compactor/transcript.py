"""Show messages to a model as material: framed, so that nothing in them can close the frame."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping

from bumble_core.types.messages import Message

_LONGEST_RESULT = 2000  # characters of one tool result that a summary is made from


def framed(messages: Iterable[Message], originals: Mapping[str, Message]) -> str:
    """Return the log's text of `messages` between two lines that hold a random word."""
    word = secrets.token_hex(8)
    body = "\n\n".join(_shown(originals.get(message.id, message)) for message in messages)
    return f"<<<record {word}\n{body}\nrecord {word}>>>"


def _shown(message: Message) -> str:
    lines = [f"{message.role}: {message.text}"] if message.text else []
    for call in message.tool_calls:
        lines.append(f"call {call.name}: {json.dumps(call.arguments, ensure_ascii=False)[:_LONGEST_RESULT]}")
    for result in message.tool_results:
        lines.append(f"result of {result.name} ({result.status}): {result.content[:_LONGEST_RESULT]}")
    return "\n".join(lines)
