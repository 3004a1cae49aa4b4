"""Models that Ollama runs, on this machine or in its cloud."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Literal, Protocol
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from bumble_core import ConfigError, Later, hookimpl
from bumble_core.ports import Addressed, Clock, Files, Provider
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta, ModelInfo, Request

_PORT = 11434


class CloudSettings(HttpSettings):
    """Ollama's own servers."""

    base_url: str = Field(default="https://ollama.com", description="Address of the server.")
    api_key_env: str | None = Field(default="OLLAMA_API_KEY", description="Environment variable that holds the key.")


class OllamaConfig(HttpSettings):
    """The server of this machine, and the cloud as `ollama-cloud`."""

    base_url: str = Field(
        default=f"http://localhost:{_PORT}",
        description="Address of the server; `OLLAMA_HOST` in the environment wins.",
    )
    cloud: CloudSettings = Field(default_factory=CloudSettings, description="The provider `ollama-cloud`.")


class _Server(Addressed, Provider, Protocol):
    async def aclose(self) -> None: ...


class OllamaProvider:
    """One server; what it takes to reach it is loaded at the first request."""

    def __init__(
        self, name: str, settings: HttpSettings, clock: Clock, home: Path, files: Files, *, needs_key: bool
    ) -> None:
        self._name, self._settings, self._needs_key = name, settings, needs_key
        self._endpoint: Later[_Server] = Later(
            "bumble_ollama.endpoint:Endpoint",
            *(name, settings, clock, home, files),
            needs=("httpx",),
            needs_key=needs_key,
        )

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_equipped(self) -> bool:
        settings = self._settings
        key = os.environ.get(settings.api_key_env, "").strip() if settings.api_key_env else ""
        return bool(key) or not self._needs_key or settings.api_key_file is not None

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


class OllamaHere(OllamaProvider):
    """A server of this machine, whose one model a background run would keep from a turn."""

    is_exclusive: Literal[True] = True


class OllamaPlugin:
    Config = OllamaConfig

    def __init__(self, config: OllamaConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_providers(self, home: Path, files: Files, clock: Clock) -> Sequence[Provider]:
        servers = {"ollama": _from_environment(self._config), "ollama-cloud": self._config.cloud}
        return [
            (OllamaHere if _is_here(settings.base_url) else OllamaProvider)(
                name, settings, clock, home, files, needs_key=bool(settings.api_key_env or settings.api_key_file)
            )
            for name, settings in servers.items()
        ]


def address_of(host: str) -> str:
    """Return the address that `OLLAMA_HOST` names, written as Ollama reads it: `host`, `host:port`, `:port`, a URL.

    `0.0.0.0` is where a server listens, not where one is reached: it becomes this machine.
    """
    scheme, separator, rest = host.strip().rpartition("://")
    scheme = scheme if separator else "http"
    parts = urlsplit(f"//{rest}")
    name = parts.hostname or "localhost"
    name = "localhost" if name in ("0.0.0.0", "::") else name  # noqa: S104
    port = parts.port or ({"http": 80, "https": 443}.get(scheme, _PORT) if separator else _PORT)
    credentials, at, _ = parts.netloc.rpartition("@")
    return f"{scheme}://{credentials}{at}{f'[{name}]' if ':' in name else name}:{port}{parts.path.rstrip('/')}"


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _from_environment(config: OllamaConfig) -> OllamaConfig:
    host = os.environ.get("OLLAMA_HOST", "").strip()
    if not host:
        return config
    try:
        return OllamaConfig.model_validate({**config.model_dump(), "base_url": address_of(host)})
    except (ValidationError, ValueError) as error:
        raise ConfigError("`OLLAMA_HOST`: expected an address such as `localhost:11434`") from error
