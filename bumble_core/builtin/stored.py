"""Values as JSON text, written so that anything can be stored and read so that other versions' data is no obstacle."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticSerializationError

from ..types.base import Value

V = TypeVar("V", bound=Value)


def to_json(value: Value, *, exclude: set[str] | None = None, indent: int | None = None) -> str:
    """Return JSON that is valid UTF-8, even of text with half an emoji, as models sometimes write it."""
    try:
        return value.model_dump_json(exclude=exclude, indent=indent)
    except PydanticSerializationError:
        return json.dumps(value.model_dump(mode="json", exclude=exclude), indent=indent)


def from_json(cls: type[V], text: str | bytes, **more: JsonValue) -> V:
    """Read a value; keys that this version does not know are ignored at every level, `more` adds fields.

    Raises:
        ValueError: the text is not JSON or not such a value.
    """
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return cls.model_validate({**data, **more} if isinstance(data, dict) else data, extra="ignore")


def problem_of(error: ValueError) -> str:
    """Say what is wrong with stored data without repeating the data, for a log."""
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['type']}" for one in error.errors())
    return type(error).__name__
