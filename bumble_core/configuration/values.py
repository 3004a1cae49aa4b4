"""The values of settings by dotted key, as they would be written in a file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from ..types.inference import ModelRef
from ..types.settings import Plugins, Settings
from .keys import Key


def values_of(settings: Settings) -> Iterator[tuple[Key, object]]:
    """Yield every key with its value: text, numbers, switches, lists, None; mappings only where they are empty."""
    yield from _values(settings, ())


def _values(value: object, key: Key) -> Iterator[tuple[Key, object]]:
    if isinstance(value, Plugins):
        yield (*key, "disabled"), _written(value.disabled)
        yield from _values(value.sections, key) if value.sections else ()
    elif isinstance(value, BaseModel):
        for name, each in value:
            yield from _values(each, (*key, name))
    elif isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _values(each, (*key, name))
    else:
        yield key, _written(value)


def _written(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_written(each) for each in value]
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if isinstance(value, ModelRef | Path) else value
