"""What opens a server's door: keys from the environment or a file, and what messages must not repeat."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace

from ..errors import AuthenticationError
from ..servers import Server
from ..types.http import HttpSettings
from .address import Address

_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")


async def read_key(settings: HttpSettings, server: Server) -> str:
    """Return the key; empty when none is configured or the variable is not set.

    Raises:
        AuthenticationError: the key's file cannot be read.
    """
    variable, file = settings.api_key_env, settings.api_key_file
    key = os.environ.get(variable, "") if variable else ""
    if not key.strip() and file is not None:
        try:
            key = await asyncio.to_thread(file.expanduser().read_text, encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise AuthenticationError(f"`{server.name}`: cannot read the key from `{file}`") from error
    return key.strip()


def request_headers(settings: HttpSettings, address: Address, key: str) -> dict[str, str]:
    """Return the headers of a request; what the configuration says wins."""
    authorization = f"Bearer {key}" if key else address.basic
    return {
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "bumble-core",
        **({"Authorization": authorization} if authorization else {}),
        **settings.headers,
    }


def guarded(server: Server, settings: HttpSettings, address: Address, key: str) -> Server:
    """Return `server` with its address, and with every secret that a message must not repeat."""
    of_headers = tuple(
        value for name, value in settings.headers.items() if any(word in name.lower() for word in _SECRET_HEADERS)
    )
    secrets = tuple(secret for secret in (key, *address.secrets, *of_headers) if secret)
    return replace(server, address=address.shown, secrets=secrets)
