"""What was learnt about models on their servers, in one file of the home."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeGuard

import structlog
from pydantic import ValidationError

from ..atomic import write_atomically
from ..contract import FAULTS
from ..errors import RunError
from ..forcing import Level
from ..ports import Addressed, Clock, Files, Provider
from ..types.base import Value
from ..types.inference import ModelRef
from .leases import Leases

log = structlog.get_logger(__name__)

_FILE = "endpoints.json"


class LearntLevel(Value):
    """How a model is brought to call tools, why, and since when.

    `misses` counts the replies without a call, one after another, where a call was forced.
    """

    level: Level
    reason: str
    at: datetime
    misses: int = 0


class Endpoint(Value):
    """One model on one server. The windows are what its provider's list said and what an overflow error did."""

    level: LearntLevel | None = None
    listed_window: int | None = None
    overflow_window: int | None = None


class Endpoints(Value):
    """The whole file; a key is a server's address, or its provider's name, and the model's name."""

    models: dict[str, Endpoint] = {}


class EndpointMemory:
    """Read once; each change is merged into what the file holds by then.

    A file that does not parse is kept aside and everything is learnt again. A home that cannot be written keeps
    nothing beyond this process.
    """

    def __init__(self, home: Path, files: Files, clock: Clock) -> None:
        self._path, self._files = home / _FILE, files
        self._leases = Leases(home, clock)
        self._known: dict[str, Endpoint] | None = None
        self._changing = asyncio.Lock()  # protects `_known` and the file from two changes of this process at once

    async def of(self, key: str) -> Endpoint:
        """Return what is known of a model."""
        if self._known is None:
            async with self._changing:
                if self._known is None:
                    self._known = await asyncio.to_thread(self._read)
        return self._known.get(key, Endpoint())

    async def keep(
        self,
        key: str,
        *,
        level: LearntLevel | None = None,
        listed_window: int | None = None,
        overflow_window: int | None = None,
    ) -> None:
        """Remember what is given; None leaves what was known."""
        given = {"level": level, "listed_window": listed_window, "overflow_window": overflow_window}
        update = {name: value for name, value in given.items() if value is not None}
        before = await self.of(key)
        if before.model_copy(update=update) == before:
            return
        async with self._changing:
            known = self._known or {}
            self._known = {**known, key: known.get(key, Endpoint()).model_copy(update=update)}
            try:
                self._known |= await asyncio.to_thread(self._write, key, update)
            except (OSError, RunError) as error:
                log.warning("endpoints.not_kept", path=str(self._path), error=str(error))

    def _write(self, key: str, update: Mapping[str, object]) -> dict[str, Endpoint]:
        with self._leases.writing("endpoints"):
            known = self._read()
            known[key] = known.get(key, Endpoint()).model_copy(update=update)
            text = Endpoints(models=dict(sorted(known.items()))).model_dump_json(indent=2, exclude_none=True) + "\n"
            write_atomically(self._files, self._path, text.encode())
            return known

    def _read(self) -> dict[str, Endpoint]:
        try:
            with self._files.open(self._path, "rb") as handle:
                return dict(Endpoints.model_validate_json(handle.read()).models)
        except FileNotFoundError:
            return {}
        except (ValidationError, OSError) as error:
            return self._set_aside(error)

    def _set_aside(self, error: Exception) -> dict[str, Endpoint]:
        aside = self._path.with_suffix(".unreadable.json")
        try:
            self._files.replace(self._path, aside)
        except OSError as refusal:
            log.warning("endpoints.unreadable", path=str(self._path), error=str(refusal))
        else:
            log.warning("endpoints.unreadable", path=str(self._path), kept_as=str(aside), error=type(error).__name__)
        return {}


def endpoint_key(provider: Provider, ref: ModelRef) -> str:
    """Return the name of a model where it runs: another address of the same provider is another endpoint."""
    try:
        place = provider.address if _is_addressed(provider) else provider.name
    except FAULTS as error:
        log.warning("provider.address_failed", provider=provider.name, error=f"{type(error).__name__}: {error}")
        place = provider.name
    return f"{place} {ref.model}"


def _is_addressed(provider: Provider) -> TypeGuard[Addressed]:
    """Tell whether a provider has an address; its class mostly says so, a hundred times faster than the protocol."""
    return hasattr(type(provider), "address") or isinstance(provider, Addressed)
