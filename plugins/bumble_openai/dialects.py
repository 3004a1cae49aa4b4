"""Speak to a server as it accepts it: what one refuses once is not sent to it again."""

from __future__ import annotations

import re
from collections.abc import Callable

from pydantic import JsonValue

from bumble_core.errors import InvalidRequest

_Body = dict[str, JsonValue]


def newer_limit(body: _Body) -> _Body:
    """Bound the reply as OpenAI does now: its reasoning models refuse `max_tokens`."""
    return {("max_completion_tokens" if key == "max_tokens" else key): value for key, value in body.items()}


def _older_limit(body: _Body) -> _Body:
    return {("max_tokens" if key == "max_completion_tokens" else key): value for key, value in body.items()}


def _unreasoned(body: _Body) -> _Body:
    """Do without reasoning where it excludes tools, as with OpenAI's models since GPT-5.6."""
    return {**body, "reasoning_effort": "none"}


def _without(key: str) -> Callable[[_Body], _Body]:
    return lambda body: {name: value for name, value in body.items() if name != key}


_Change = Callable[[_Body], _Body]
_CHANGES: tuple[tuple[str, str, re.Pattern[str], _Change], ...] = (
    ("unreasoned", "tools", re.compile(r"set reasoning_effort to '?none"), _unreasoned),
    ("newer_limit", "max_tokens", re.compile(r"max_completion_tokens"), newer_limit),
    ("older_limit", "max_completion_tokens", re.compile(r"max_completion_tokens"), _older_limit),
    ("no_usage", "stream_options", re.compile(r"stream_options|include_usage"), _without("stream_options")),
    ("no_temperature", "temperature", re.compile(r"temperature"), _without("temperature")),
)


class Dialects:
    """What has been learned about each model in this process."""

    def __init__(self) -> None:
        self._learned: dict[str, list[str]] = {}

    def adapted(self, body: _Body, model: str) -> _Body:
        """Return `body` as the server is known to accept it."""
        for name, _, _, change in _CHANGES:
            if name in self._learned.get(model, ()):
                body = change(body)
        return body

    def learn(self, error: InvalidRequest, body: _Body, model: str) -> str | None:
        """Return the name of the change that `error` asks for; None when it asks for none, or for one made before."""
        learned = self._learned.setdefault(model, [])
        for name, key, wording, _ in _CHANGES:
            if key in body and name not in learned and wording.search(str(error)):
                learned.append(name)
                return name
        return None
