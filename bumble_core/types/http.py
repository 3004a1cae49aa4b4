"""What a configuration says about a server that is reached over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator
from typing_extensions import override

from .settings import PluginConfig


class HttpSettings(PluginConfig):
    """Where a server is, how it is paid, and how long it may take.

    The address may hold a password or a token: errors about it do not show it.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    base_url: str = Field(description="Address of the API, for example `http://localhost:8080/v1`.")
    api_key_env: str | None = Field(default=None, description="Environment variable that holds the key.")
    api_key_file: Path | None = Field(default=None, description="File that holds the key; read when it is needed.")
    headers: dict[str, str] = Field(default={}, description="Headers sent with every request.")
    default_model: str | None = Field(default=None, description="Model that is taken when none is named.")
    connect_timeout_s: float = Field(default=10, gt=0, description="Longest wait for a connection, in seconds.")
    first_byte_timeout_s: float = Field(
        default=300, gt=0, description="Longest wait for the first byte of a reply: loading and reading the prompt."
    )
    between_bytes_timeout_s: float = Field(default=120, gt=0, description="Longest pause inside a reply, in seconds.")
    timeout_s: float = Field(default=600, gt=0, description="Longest time of one request with all its retries.")
    fast_transport: bool | None = Field(
        default=None,
        description="Use aiohttp for the connections, from the first on or never; unset: where the extra `fast` is "
        "installed, from the request on at which that begins to pay.",
    )
    retry_attempts: int = Field(default=3, ge=1, le=10, description="How often one request is sent at most.")
    retry_base_s: float = Field(default=1, ge=0, description="Pause before the second attempt; it doubles each time.")
    retry_max_s: float = Field(
        default=60, ge=0, description="Longest pause; a server that asks for a longer one is not asked again."
    )
    retry_jitter: float = Field(default=0.25, ge=0, le=1, description="Share by which a pause is lengthened at random.")

    @override
    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        """Leave out what may hold a secret."""
        return ((name, value) for name, value in super().__repr_args__() if name not in ("base_url", "headers"))

    @field_validator("base_url")
    @classmethod
    def _reachable(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            known = False
        if not known:
            raise ValueError("expected an address such as `http://localhost:8080/v1`")
        return url
