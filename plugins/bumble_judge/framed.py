"""Show a turn to a judge as data: one JSON object, which no text in it can close or answer for."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable

from pydantic import JsonValue

from bumble_core.types.turn import TurnContext

_ASKED_CHARS = 1200  # these two numbers are those of the program behind Bumblebee's Cognition page
_SEEN_CHARS = 2000
_BEFORE_CHARS = 300
_MOST_BEFORE = 4
_MOST_TOOLS = 24


def asked(turn: TurnContext) -> str:
    """Return the user's words of this turn, those that joined it while it ran too."""
    texts = [message.text for message in turn.log if message.role == "user" and message.source == "user"]
    return "\n".join(text for text in texts if text.strip())


def framed(turn: TurnContext, tools: Iterable[str]) -> str:
    """Return the turn as JSON: what was asked, said before, seen by the user, and given by work tools."""
    before = [
        _said(message.role, message.text)
        for message in turn.input.history
        if message.role in ("user", "assistant") and message.text.strip()
    ]
    results: list[JsonValue] = [
        {"tool": each.tool, "status": each.status, "beginning": each.text} for each in turn.previews
    ]
    available: list[JsonValue] = [*itertools.islice(tools, _MOST_TOOLS)]
    data: dict[str, JsonValue] = {
        "before": before[-_MOST_BEFORE:],
        "asked": shortened(asked(turn), _ASKED_CHARS),
        "results": results,
        "available": available,
        "seen": shortened(turn.visible_text, _SEEN_CHARS),
    }
    return json.dumps(data, ensure_ascii=False)


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters: its beginning and its end."""
    text = text.strip()
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def _said(by: str, text: str) -> JsonValue:
    return {"by": by, "text": shortened(text, _BEFORE_CHARS)}
