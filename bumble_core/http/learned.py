"""Remember what servers refuse, in one file of the home, so that none is asked for it twice."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import structlog
from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from ..atomic import write_atomically
from ..ports import Files

log = structlog.get_logger(__name__)

_LOCK_TIMEOUT_S = 5.0

_Known = dict[str, dict[str, tuple[str, ...]]]


class Learned:
    """Names of what a server does not take, by its address and the model; the names are their provider's.

    All providers of a home share the file `knobs.json`. What cannot be read or written there is learned again: that
    costs one refused request.
    """

    def __init__(self, home: Path, files: Files) -> None:
        self._home, self._path, self._files = home, home / "knobs.json", files
        self._known: _Known | None = None

    async def of(self, address: str, model: str) -> tuple[str, ...]:
        """Return what is known, in the order in which it was learned."""
        if self._known is None:
            self._known = await asyncio.to_thread(self._read)
        return self._known.get(address, {}).get(model, ())

    async def add(self, address: str, model: str, name: str) -> None:
        """Remember one more thing, here and in the file."""
        names = await self.of(address, model)
        if name in names:
            return
        self._known = _with(self._known or {}, address, model, (*names, name))
        await asyncio.to_thread(self._keep, address, model, name)

    def _keep(self, address: str, model: str, name: str) -> None:
        if not self._home.is_dir():  # nobody lives there yet: who makes a home says of which version it is
            return
        locks = self._home / "locks"
        try:
            locks.mkdir(exist_ok=True)
            with FileLock(locks / "knobs.lock", timeout=_LOCK_TIMEOUT_S):
                known = self._read()
                names = known.get(address, {}).get(model, ())
                if name not in names:
                    text = json.dumps(_with(known, address, model, (*names, name)), ensure_ascii=False, indent=2)
                    write_atomically(self._files, self._path, f"{text}\n".encode())
        except (OSError, Timeout) as error:
            log.warning("knobs.not_kept", path=str(self._path), error=str(error))

    def _read(self) -> _Known:
        try:
            with self._files.open(self._path, "rb") as handle:
                return TypeAdapter(_Known).validate_json(handle.read())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            log.warning("knobs.unreadable", path=str(self._path), error=str(error))
            return {}


def _with(known: _Known, address: str, model: str, names: tuple[str, ...]) -> _Known:
    return {**known, address: {**known.get(address, {}), model: names}}
