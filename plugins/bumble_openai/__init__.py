"""Models of OpenAI, and of every server that speaks its chat completions."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator

from bumble_core import ConfigError, Later, hookimpl
from bumble_core.ports import Addressed, Clock, Files, Provider
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta, ModelInfo, Request

from .thinking import Knob

_OFFICIAL = "https://api.openai.com/v1"
_NAME = "openai"


class EndpointSettings(HttpSettings):
    """One server that speaks chat completions."""

    thinking: Knob = Field(
        default="auto",
        description=(
            "How a profile's thinking is asked for: `reasoning_effort`, `chat_template_kwargs` or `off`; `auto` takes "
            "the first for OpenAI's reasoning models and OpenRouter, the second for every other server. An effort "
            "leaves room for thoughts beside the longest reply: 2,048 tokens for low, 8,192 for medium."
        ),
    )


class OpenAIConfig(EndpointSettings):
    """The default endpoint, and others by name."""

    base_url: str = Field(
        default=_OFFICIAL, description="Address of the API; `OPENAI_BASE_URL` in the environment wins."
    )
    api_key_env: str | None = Field(default="OPENAI_API_KEY", description="Environment variable that holds the key.")
    default_model: str | None = Field(default="gpt-6-luna", description="Model that is taken when none is named.")
    endpoints: dict[str, EndpointSettings] = Field(
        default={}, description="More servers of this kind: `NAME:model` asks the server of that name."
    )

    @field_validator("endpoints")
    @classmethod
    def _names(cls, endpoints: dict[str, EndpointSettings]) -> dict[str, EndpointSettings]:
        for name in endpoints:
            if name == _NAME or not name or ":" in name:
                raise ValueError(f"`{name}` cannot name an endpoint: it must differ from `{_NAME}` and have no colon")
        return endpoints


class _Endpoint(Addressed, Provider, Protocol):
    async def aclose(self) -> None: ...


class OpenAIProvider:
    """One endpoint; what it takes to reach it is loaded at the first request."""

    def __init__(
        self, name: str, settings: EndpointSettings, clock: Clock, home: Path, files: Files, *, needs_key: bool
    ) -> None:
        self._name = name
        self._endpoint: Later[_Endpoint] = Later(
            "bumble_openai.endpoint:Endpoint",
            *(name, settings, clock, home, files),
            needs=("httpx",),
            needs_key=needs_key,
            thinking=settings.thinking,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> str:
        return self._endpoint().address

    def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        return self._endpoint().stream(request, model)

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self._endpoint().models()

    async def aclose(self) -> None:
        if self._endpoint.made is not None:
            await self._endpoint.made.aclose()


class OpenAIPlugin:
    Config = OpenAIConfig

    def __init__(self, config: OpenAIConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_providers(self, home: Path, files: Files, clock: Clock) -> Sequence[Provider]:
        default = _from_environment(self._config)
        is_official = urlsplit(default.base_url).hostname == urlsplit(_OFFICIAL).hostname
        asked_for_key = "api_key_env" in self._config.model_fields_set or default.api_key_file is not None
        needs_key = {_NAME: is_official or asked_for_key}
        needs_key |= {n: bool(each.api_key_env or each.api_key_file) for n, each in self._config.endpoints.items()}
        return [
            OpenAIProvider(name, settings, clock, home, files, needs_key=needs_key[name])
            for name, settings in {_NAME: default, **self._config.endpoints}.items()
        ]


def _from_environment(config: OpenAIConfig) -> OpenAIConfig:
    url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not url:
        return config
    try:
        return OpenAIConfig.model_validate({**config.model_dump(), "base_url": url})
    except ValidationError as error:
        raise ConfigError("`OPENAI_BASE_URL`: expected an address such as `http://localhost:8080/v1`") from error
