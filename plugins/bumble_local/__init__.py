"""Run models inside this process with llama.cpp: the provider `local`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Literal, Protocol

from pydantic import Field

from bumble_core import Deferred, Later, PluginConfig, hookimpl
from bumble_core.ports import Downloads, Provider, Report
from bumble_core.types.inference import Completion, Delta, ModelInfo, Request

_fetch = Deferred("bumble_local.download:fetch")


class LocalConfig(PluginConfig):
    """How models run in this process."""

    threads: int | None = Field(default=None, ge=1, description="Threads that compute; unset: llama.cpp's own choice.")
    context_tokens: int | None = Field(
        default=None,
        ge=256,
        description="Window of the engine; unset: as the first request asks. At most what the model was trained with.",
    )
    models_folder: Path | None = Field(
        default=None, description="Folder of the model files; `BUMBLE_MODELS` wins; unset: the user's cache directory."
    )


class _Loaded(Provider, Downloads, Protocol):
    async def aclose(self) -> None: ...


class Local:
    """Models of this machine; what it takes to run them is loaded when one is asked for.

    Raises:
        ModuleNotFoundError: the engine is not installed.
    """

    name = "local"
    is_exclusive: Literal[True] = True

    def __init__(self, config: LocalConfig) -> None:
        self._provider: Later[_Loaded] = Later(
            "bumble_local.provider:LocalProvider",
            needs=("xllamacpp",),
            threads=config.threads,
            context_tokens=config.context_tokens,
            models_folder=config.models_folder,
        )

    def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        return self._provider().stream(request, model)

    async def models(self) -> tuple[ModelInfo, ...]:
        return await self._provider().models()

    async def pull(self, model: str, report: Report) -> None:
        await self._provider().pull(model, report)

    async def aclose(self) -> None:
        if self._provider.made is not None:
            await self._provider.made.aclose()


class LocalPlugin:
    """Offers the provider `local`."""

    Config = LocalConfig

    def __init__(self, config: LocalConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_providers(self) -> tuple[Provider, ...]:
        return (Local(self._config),)


def pull(name: str, *, folder: Path | None = None, report: Report | None = None) -> Path:
    """Return the file of the model `name`, downloaded if need be.

    Blocks. `report` is told the bytes that have come and how many there will be.

    Raises:
        ModelMissing: the model cannot be fetched or kept; the message says why and what to do.
        Unreachable: pip could not download it.
    """
    path: Path = _fetch(name, folder=folder, report=report)
    return path
