"""Turn a profile's thinking into the knob that an endpoint understands."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import JsonValue

Knob = Literal["auto", "reasoning_effort", "chat_template_kwargs", "off"]

_REASONS = re.compile(r"(ft:)?(o\d|gpt-([5-9]|\d\d)(?!.*chat))")  # OpenAI's families that take an effort
_ALWAYS_REASONS = re.compile(r"(?:.*/)?(ft:)?(o\d|gpt-5(?!\.\d))")  # those of them that refuse the effort `none`

# Hidden thoughts count against the reply's limit. OpenAI's guide to reasoning asks to leave room for them; these keep
# a reply of the reflex profile from being all thoughts, and bound what a deliberate one costs.
_ROOM_FOR_THOUGHTS = {"none": 0, "low": 2_048, "medium": 8_192}
_LIMITS = ("max_tokens", "max_completion_tokens")


def knob_for(knob: Knob, host: str, model: str) -> Knob:
    """Return the knob that is turned; `auto` decides by the host, and on OpenAI's own by the model."""
    if knob != "auto":
        return knob
    if host == "api.openai.com":
        return "reasoning_effort" if _REASONS.match(model) else "off"
    if host == "openrouter.ai" or host.endswith(".openrouter.ai"):
        return "reasoning_effort"
    return "chat_template_kwargs"


def effort_for(model: str, *, thinking: bool, least: str | None = None) -> str:
    """Return the effort; `least` is what the model is known to take where it refuses to do without."""
    if thinking:
        return "medium"
    return least or ("low" if _ALWAYS_REASONS.match(model) else "none")


def with_effort(body: dict[str, JsonValue], effort: str) -> dict[str, JsonValue]:
    """Return `body` with an effort, and a limit that leaves room for the thoughts beside the reply."""
    room = _ROOM_FOR_THOUGHTS[effort]
    limits = {key: size + room for key, size in body.items() if key in _LIMITS and isinstance(size, int)}
    return {**body, **limits, "reasoning_effort": effort}


def with_template_switch(body: dict[str, JsonValue], *, thinking: bool) -> dict[str, JsonValue]:
    """Return `body` with the switch that the chat templates of Qwen, GLM, Hunyuan and others read."""
    return {**body, "chat_template_kwargs": {"enable_thinking": thinking}}
