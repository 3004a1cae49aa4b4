"""Show turns to a model whole, or as much of them as fits: what was said, done, changed and put out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bumble_core import fitted, framed
from bumble_core.types.messages import Message
from bumble_core.types.turn import Turn

from .entries import inert

_CHARS_PER_TOKEN = 3  # fewer than in English prose: diffs, paths and JSON are denser
_SPARSE = re.compile("[^\u2e80-\U0010ffff]+")  # beyond, a character of most scripts is a token of its own
_LEAST_CHARS = 400


@dataclass(frozen=True, slots=True)
class Shown:
    """`text` is the framed record of `turns`, the oldest of those that were offered."""

    turns: tuple[Turn, ...]
    text: str


def show(turns: Sequence[Turn], room_tokens: int, *, most_output: int | None = None) -> Shown:
    """Return the oldest turns that fit whole; one that does not fit by itself is shown with its longest parts cut.

    `most_output` is how many characters of one tool's output or diff are wanted at most; None wants all.
    """
    texts: list[str] = []
    room = room_tokens
    for turn in turns:
        text = "\n".join(_parts(turn, most_output))
        room -= tokens(text)
        if room < 0 and texts:
            break
        texts.append(text if room >= 0 else _cut(turn, room_tokens, most_output))
        if room < 0:
            break
    return Shown(tuple(turns[: len(texts)]), framed("record", inert("\n\n".join(texts))))


def tokens(text: str) -> int:
    """Guess how many tokens `text` takes, rather too many than too few."""
    wide = 0 if text.isascii() else len(_SPARSE.sub("", text))
    return wide + (len(text) - wide) // _CHARS_PER_TOKEN + 1


def _cut(turn: Turn, room_tokens: int, most_output: int | None) -> str:
    parts = _parts(turn, most_output)
    whole = "\n".join(parts)
    share = room_tokens / tokens(whole)
    return "\n".join(part for part in fitted(parts, max(_LEAST_CHARS, int(len(whole) * share))) if part)


def _parts(turn: Turn, most_output: int | None) -> list[str]:
    by = "" if turn.origin == "user" else f", by {turn.origin}"
    parts = [f"turn {turn.number} ({turn.status}{by}), {turn.started:%Y-%m-%d %H:%M} UTC"]
    for message in turn.messages:
        parts += _of_message(message, most_output)
    if turn.delivered:
        parts.append(f"the user was told: {turn.text}")
    if turn.error:
        parts.append(f"the turn failed: {turn.error}")
    return parts


def _of_message(message: Message, most_output: int | None) -> list[str]:
    parts = [f"{message.role}: {message.text}"] if message.text.strip() and message.role != "tool" else []
    for call in message.tool_calls:
        given = call.raw if call.problem else json.dumps(call.arguments, ensure_ascii=False)
        parts.append(f"call {call.name}: {given[:most_output]}{f' (not run: {call.problem})' if call.problem else ''}")
    for result in message.tool_results:
        output = result.whole or result.content
        parts.append(f"result of {result.name} ({result.status}): {_shorter(output, most_output)}")
        if result.diff:
            parts.append(f"changed by {result.name}:\n{_shorter(result.diff, most_output)}")
    return parts


def _shorter(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[:most]}[… {len(text) - most} more characters]"
