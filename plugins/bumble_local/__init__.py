"""Run models inside this process with llama.cpp: the provider `local`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from bumble_core import Deferred, PluginConfig, hookimpl
from bumble_core.ports import Provider, Report

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


class LocalPlugin:
    """Offers the provider `local`; llama.cpp is imported when the first request comes."""

    Config = LocalConfig

    def __init__(self, config: LocalConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_providers(self) -> tuple[Provider, ...]:
        make = Deferred("bumble_local.provider:LocalProvider", needs=("xllamacpp",))
        return (
            make(
                threads=self._config.threads,
                context_tokens=self._config.context_tokens,
                models_folder=self._config.models_folder,
            ),
        )


def pull(name: str, *, folder: Path | None = None, report: Report | None = None) -> Path:
    """Return the file of the model `name`, downloaded if need be.

    Blocks. `report` is told the bytes that have come and how many there will be.

    Raises:
        ModelMissing: the model cannot be fetched or kept; the message says why and what to do.
        Unreachable: pip could not download it.
    """
    path: Path = _fetch(name, folder=folder, report=report)
    return path
