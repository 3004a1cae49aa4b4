"""A model provider from outside: `echo:MODEL` asks an echo server."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from bumble_core import Deferred, hookimpl
from bumble_core.ports import Clock, Provider
from bumble_core.types.http import HttpSettings

_make_provider = Deferred("bumble_echo.provider:EchoProvider", needs=("httpx",))


class EchoConfig(HttpSettings):
    """Where the server is."""

    base_url: str = Field(default="http://localhost:9000", description="Address of the server.")


class EchoPlugin:
    Config = EchoConfig

    def __init__(self, config: EchoConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_providers(self, clock: Clock) -> Sequence[Provider]:
        return [_make_provider(self._config, clock)]
