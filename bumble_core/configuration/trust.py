"""What a file that came with somebody's folder may set, and which files the user has said yes to.

`docs/design/configuration-trust.md` says why each key stands where it does.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog
from filelock import FileLock

from ..regular import open_regular
from ..secrecy import masked
from .keys import Key
from .origins import Given, Origin

log = structlog.get_logger(__name__)

Decision = Literal["trusted", "refused"]
Verdict = Literal["trusted", "refused", "unknown"]

HARMLESS: tuple[Key, ...] = (
    ("agent", "name"),
    ("agent", "always_deliberate"),
    ("cognition",),
    ("gate",),
)
_SPENDING: tuple[Key, ...] = (
    ("cognition", "turn_max_tokens"),
    ("cognition", "turn_max_cost"),
    ("cognition", "prices"),
    ("gate", "judge_model"),
)
_LOCK_TIMEOUT_S = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """One setting of a file that is not trusted: what it would have set, fit to print."""

    key: str
    value: object
    origin: Origin


def is_harmless(key: Key) -> bool:
    """Tell whether any folder may set `key`. What is not named as harmless is not: new keys start held back."""
    return _is_among(key, HARMLESS) and not _is_among(key, _SPENDING)


def _is_among(key: Key, sections: tuple[Key, ...]) -> bool:
    return any(key[: len(section)] == section for section in sections)


def held_back(given: tuple[Given, ...]) -> tuple[HeldBack, ...]:
    return tuple(
        HeldBack(key=".".join(each.key), value=masked(each.value, *each.key), origin=each.origin)
        for each in given
        if not is_harmless(each.key)
    )


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Trust:
    """The user's decisions, by file and content: a file that changed must be trusted again.

    They are kept in one file that only the user can read. One that cannot be understood trusts nothing.
    """

    def __init__(self, store: Path) -> None:
        self._store = store

    @classmethod
    def among(cls, data_folder: Path) -> Trust:
        return cls(data_folder / "trust.json")

    def verdict(self, file: Path, digest: str) -> Verdict:
        kept = self._read().get(_name(file), {})
        if kept.get("sha256") != digest:
            return "unknown"
        return "trusted" if kept.get("decision") == "trusted" else "refused"

    def decide(self, file: Path, digest: str, decision: Decision) -> None:
        """Keep a decision about exactly this content, by its `digest_of`."""
        self._store.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._store.with_suffix(".lock"), timeout=_LOCK_TIMEOUT_S):  # two terminals may decide at once
            kept = {**self._read(), _name(file): {"decision": decision, "sha256": digest}}
            _write_privately(self._store, json.dumps(kept, indent=1).encode())

    def _read(self) -> Mapping[str, Mapping[str, str]]:
        try:
            with open(self._store, "rb", opener=open_regular) as file:
                kept = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            log.warning("trust.unreadable", path=str(self._store), problem=str(error))
            return {}
        entries = kept.items() if isinstance(kept, dict) else ()
        return {name: entry for name, entry in entries if isinstance(entry, dict)}


def _name(file: Path) -> str:
    return str(file.resolve())


def _write_privately(path: Path, data: bytes) -> None:
    """Replace a file at once; the new one is readable by its owner only."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
