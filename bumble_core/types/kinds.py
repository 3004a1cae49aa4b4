"""The kinds of values that a setting can have, each strict about what it takes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema

from .inference import ModelRef

_TOO_LARGE = 2**53  # from here on whole numbers and their shares are no longer exact


def _model_ref(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return ModelRef.parse(value)
    except ValueError as error:
        raise ValueError("expected a model's name or `provider:model`") from error


def _named(value: str) -> str:
    _model_ref(value)
    return value


def _duration(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a duration is seconds, or text such as `PT5M`")  # noqa: TRY004 (pydantic reports ValueErrors only)
    return value


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("a duration is longer than nothing")
    return value


def _moderate(value: int) -> int:
    if abs(value) >= _TOO_LARGE:
        raise ValueError("a number that large means nothing here")
    return value


def _nameable(value: Path) -> Path:
    if "\0" in str(value):
        raise ValueError("a path holds no null character")
    return value


def _folder_name(value: str) -> str:
    if value.strip() != value or value in {".", ".."} or not value.isprintable() or set(value) & set("/\\"):
        raise ValueError("a name is printable text without slashes, and no space at its ends")
    return value


Whole = Annotated[int, Strict(), AfterValidator(_moderate)]
Positive = Annotated[int, Strict(), Field(gt=0), AfterValidator(_moderate)]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Amount = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Seconds = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
Switch = Annotated[bool, Strict()]
Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    AfterValidator(_positive),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "format": "duration"}]}),
]
Folder = Annotated[Path, AfterValidator(_nameable)]
EntityName = Annotated[str, AfterValidator(_folder_name)]
ModelName = Annotated[ModelRef, BeforeValidator(_model_ref), WithJsonSchema({"type": "string", "minLength": 1})]
ModelText = Annotated[str, AfterValidator(_named)]
ModelNames = tuple[ModelName, ...]
