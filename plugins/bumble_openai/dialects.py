"""Speak to a server as it accepts it: what one refuses once is not sent to it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from pydantic import JsonValue

from bumble_core.chat import encode_fields
from bumble_core.errors import InvalidRequest
from bumble_core.types.inference import Request

from .thinking import Knob, effort_for, knob_for, with_effort, with_template_switch

_Body = dict[str, JsonValue]


def _newer_limit(body: _Body) -> _Body:
    """Bound the reply as OpenAI does now: its reasoning models refuse `max_tokens`."""
    return {("max_completion_tokens" if key == "max_tokens" else key): value for key, value in body.items()}


def _older_limit(body: _Body) -> _Body:
    return {("max_tokens" if key == "max_completion_tokens" else key): value for key, value in body.items()}


def _without(key: str) -> Callable[[_Body], _Body]:
    return lambda body: {name: value for name, value in body.items() if name != key}


_MANDATORY = "[Rr]easoning is mandatory"  # OpenRouter
_Change = Callable[[_Body], _Body]
# What is learned, the key that must have been sent, how servers word that they refuse it, what changes then. The first
# that fits is learned. Three change nothing here: `_thinking` asks for them.
_CHANGES: tuple[tuple[str, str, re.Pattern[str], _Change | None], ...] = (
    ("unreasoned", "tools", re.compile(r"set reasoning_effort to '?none"), None),
    ("newer_limit", "max_tokens", re.compile(r"max_completion_tokens"), _newer_limit),
    ("older_limit", "max_completion_tokens", re.compile(r"max_completion_tokens"), _older_limit),
    ("no_usage", "stream_options", re.compile(r"stream_options|include_usage"), _without("stream_options")),
    ("no_temperature", "temperature", re.compile(r"temperature"), _without("temperature")),
    ("no_switch", "chat_template_kwargs", re.compile(r"chat_template_kwargs|enable_thinking"), None),
    (
        "some_effort",
        "reasoning_effort",
        re.compile(rf"'none' is not supported|does not support 'none|{_MANDATORY}"),
        None,
    ),
    ("no_effort", "reasoning_effort", re.compile(r"reasoning[_.]?effort|'(none|low|medium)' is not"), None),
)


class Dialect:
    """How one endpoint is spoken to."""

    def __init__(self, host: str, knob: Knob = "auto") -> None:
        self._host, self._knob = host, knob
        self._is_official = host == "api.openai.com"

    def fields(self, request: Request, model: str, learned: Collection[str]) -> _Body:
        """Return the body as the endpoint is known to accept it, without its messages."""
        body = encode_fields(request, model)
        if self._is_official:
            body = _newer_limit(body)
        for name, _, _, change in _CHANGES:
            if change is not None and name in learned:
                body = change(body)
        return self._thinking(body, request.profile.thinking, model, learned)

    def refused(self, error: InvalidRequest, body: _Body, learned: Collection[str]) -> str | None:
        """Return the name of what `error` says is not accepted; None when it is nothing that can be left out."""
        text = str(error)
        return next(
            (
                name
                for name, key, wording, _ in _CHANGES
                if key in body and name not in learned and wording.search(text)
            ),
            None,
        )

    def _thinking(self, body: _Body, thinking: bool, model: str, learned: Collection[str]) -> _Body:
        if "unreasoned" in learned and "tools" in body:  # reasoning excludes tools: OpenAI's models since GPT-5.6
            return with_effort(body, "none")
        knob = knob_for(self._knob, self._host, model)
        if knob == "reasoning_effort" and "no_effort" not in learned:
            least = "low" if "some_effort" in learned else None
            return with_effort(body, effort_for(model, thinking=thinking, least=least))
        if knob == "chat_template_kwargs" and "no_switch" not in learned:
            return with_template_switch(body, thinking=thinking)
        return body
