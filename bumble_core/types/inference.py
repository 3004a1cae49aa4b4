"""One model call: what is asked and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue, field_validator
from typing_extensions import override

from .base import Value
from .messages import Message

Finish = Literal["stop", "tool_calls", "length", "filtered", "cut"]
ToolChoice = Literal["auto", "required", "none"]


class ModelRef(Value):
    """`provider:model`, for example `ollama:qwen3:8b`; only the first colon splits.

    `provider` is None for a bare name, which the configured providers resolve in their order.
    """

    provider: str | None = None
    model: str

    @classmethod
    def parse(cls, text: str) -> ModelRef:
        """Read `provider:model` or a bare model name.

        Raises:
            ValueError: one side of the colon is empty.
        """
        provider, colon, model = text.strip().partition(":")
        if not provider or (colon and not model):
            raise ValueError(f"expected `provider:model` or a model's name, got {text!r}")
        return cls(provider=provider, model=model) if colon else cls(model=provider)

    @override
    def __str__(self) -> str:
        return f"{self.provider}:{self.model}" if self.provider else self.model


class ModelInfo(Value):
    """One model that a provider offers. `context_window` is in tokens, `size` in bytes; None is "not known".

    `is_ready` is False for one that has to be fetched before it can be asked.
    """

    ref: ModelRef
    context_window: int | None = None
    size: int | None = None
    is_default: bool = False
    is_ready: bool = True
    note: str = ""


class Profile(Value):
    """How hard to think: the knobs that a route turns. `max_tokens` bounds the reply."""

    name: str
    max_tokens: int
    thinking: bool = False
    temperature: float = 0.7


class ToolSpec(Value):
    """What a model is told about a tool. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class Usage(Value):
    """Tokens of one call or of many. `estimated` marks counts that a server did not report."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            estimated=self.estimated or other.estimated,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cached_tokens=self.cached_tokens - other.cached_tokens,
            estimated=self.estimated or other.estimated,
        )


class Request(Value):
    """Everything a provider needs.

    `owner` is the id of the turn or the run that pays for it; `purpose` is `turn`, `route`, `judge`, `compact`,
    `persona`, `probe` or `job`. The kernel meters both. `context_window`, in tokens, is what the request may fill with
    its reply: providers whose servers size their context per request pass it on, so the kernel sets it to the
    configured one in every request. `tail` is the text that the last message ends with and that the next request will
    not repeat: a server's prompt cache holds up to it.
    `reply_schema` is a JSON schema that the reply's text must fit, for servers that can force it. With `tool_choice`
    `none` the tools are only named to keep the prefix: no call may come.
    """

    owner: str
    purpose: str
    models: tuple[ModelRef, ...]
    profile: Profile
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = "auto"
    context_window: int = 32_768
    tail: str = ""
    reply_schema: dict[str, JsonValue] | None = None

    @field_validator("models")
    @classmethod
    def _some_model(cls, models: tuple[ModelRef, ...]) -> tuple[ModelRef, ...]:
        if not models:
            raise ValueError("a request names at least one model")
        return models


class Attempt(Value):
    """A model that was asked and did not answer."""

    model: ModelRef
    error: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed answer: what was thought, then what was said. There are many, and none is stored."""

    text: str = ""
    thinking: str = ""


class Completion(Value):
    """How a model answered.

    `finish` tells how the answer ended: `cut` means that the connection ended before the server said so, and the
    message then holds no calls.
    """

    message: Message
    finish: Finish
    model: ModelRef
    usage: Usage = Usage()
    failed_attempts: tuple[Attempt, ...] = ()
