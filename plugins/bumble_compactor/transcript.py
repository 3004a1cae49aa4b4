"""Show messages to a model as material: framed, so that nothing in them can close the frame."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping

from bumble_core.types.messages import Message

_LONGEST = 2000  # characters of one call or result that a summary is made from


def framed(messages: Iterable[Message], originals: Mapping[str, Message]) -> str:
    """Return the log's text of `messages` between two lines that hold a random word."""
    word = secrets.token_hex(8)
    body = "\n\n".join(_shown(originals.get(message.id, message)) for message in messages)
    return f"<<<record {word}\n{body}\nrecord {word}>>>"


def _shown(message: Message) -> str:
    lines = [f"{message.role}: {message.text}"] if message.text else []
    lines += [f"call {c.name}: {json.dumps(c.arguments, ensure_ascii=False)[:_LONGEST]}" for c in message.tool_calls]
    lines += [f"result of {r.name} ({r.status}): {r.content[:_LONGEST]}" for r in message.tool_results]
    return "\n".join(lines)
