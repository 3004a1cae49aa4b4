"""Take an address apart: what is called, what is shown, what is secret."""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    """A base URL without its secrets. `query` is added to every request and `basic` is an `Authorization` header."""

    base: str
    shown: str
    is_https: bool
    is_local: bool
    query: str = field(default="", repr=False)
    basic: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read an address that `HttpSettings` accepted."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        name = f"[{host}]" if ":" in host else host
        port = "" if parts.port is None else f":{parts.port}"
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        basic = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}" if user or password else ""
        tokens = tuple(value for _, value in parse_qsl(parts.query))
        return cls(
            base=f"{parts.scheme}://{name}{port}{parts.path.rstrip('/')}",
            shown=f"{name}{port}",
            is_https=parts.scheme == "https",
            is_local=_is_loopback(host),
            query=parts.query,
            basic=basic,
            secrets=tuple(secret for secret in (password, parts.query, *tokens, basic[6:]) if secret),
        )

    def join(self, path: str) -> str:
        """Return the URL of `path`, without the query."""
        return f"{self.base}/{path.lstrip('/')}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
