"""Name a server in messages without giving its secrets away."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from urllib.parse import quote

from typing_extensions import override

_LONGEST_QUOTE = 240  # characters of a server's own words in a message: enough for a sentence, not for a page
_SHORTEST_SECRET = 4  # shorter ones are words; hiding them would hide half of every message


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Who was asked, as error messages name it. `secrets` never appear in one, in whatever encoding.

    `start_hint`, `key_hint` and `models_hint` are clauses that say what to do; `{model}` in the last is filled in.
    """

    name: str
    address: str = ""
    key_hint: str = "check its key"
    start_hint: str = ""
    models_hint: str = "`bumble models list` shows what there is"
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @override
    def __str__(self) -> str:
        return f"`{self.name}` ({self.address})" if self.address else f"`{self.name}`"

    def scrub(self, text: str) -> str:
        """Return `text` without the secrets, their base64 or their percent-encoded form."""
        for secret in self.secrets:
            if len(secret) >= _SHORTEST_SECRET:
                for form in _forms(secret):
                    text = text.replace(form, "***")
        return text

    def quoted(self, text: str) -> str:
        """Return the server's own words, short, on one line and without secrets."""
        words = " ".join(self.scrub(text).split())
        return words if len(words) <= _LONGEST_QUOTE else f"{words[:_LONGEST_QUOTE]}…"


def _forms(secret: str) -> tuple[str, ...]:
    encoded = base64.b64encode(secret.encode()).decode()
    return (secret, quote(secret, safe=""), encoded, encoded.rstrip("="))
