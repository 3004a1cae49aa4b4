"""Turn what pydantic finds into lines that a person can act on: where, which key, what was expected, what was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..secrecy import masked
from .keys import Key, place_of
from .origins import DEFAULT, Given, Origin, Wrong
from .yaml_source import Trail, dotted

_LONGEST = 60


def explained(error: ValidationError, given: Mapping[Key, Given]) -> tuple[Wrong, ...]:
    """Return one entry for each value that does not fit."""
    found: dict[Trail, Wrong] = {}
    for details in error.errors(include_url=False):
        trail, text = _described(details)
        found.setdefault(trail, Wrong(_origin(trail, given), f"{dotted(trail)}: {text}"))
    return tuple(found.values())


def _described(details: ErrorDetails) -> tuple[Trail, str]:
    """Return the place at fault and what is wrong there.

    A fault inside of a list's item is a fault of the item.
    """
    loc = _as_in_the_file(details["loc"])
    inside_list = next((length for length in range(1, len(loc)) if isinstance(loc[length], int)), None)
    trail = loc if inside_list is None else loc[: inside_list + 1]
    place = place_of(tuple(_names(trail)))
    if place is None:
        return trail, details["msg"]
    expected = place.expected if inside_list is None else place.expected_item
    if details["type"] == "value_error":
        return trail, f"{details['msg'].removeprefix('Value error, ')}, got {_shown(details['input'], trail)}"
    return trail, f"expected {expected}, got {_shown(details['input'] if trail == loc else {}, trail)}"


def _as_in_the_file(loc: tuple[int | str, ...]) -> Trail:
    """Plugins' sections stand beside `disabled` in the file, under `sections` in the model."""
    return ("plugins", *loc[2:]) if loc[:2] == ("plugins", "sections") else loc


def _names(loc: Trail) -> Iterator[str]:
    for step in loc:
        if isinstance(step, int):
            return
        yield step


def _origin(trail: Trail, given: Mapping[Key, Given]) -> Origin:
    """Return where the value at `trail` was given; one that fills a whole section answers for what is below it."""
    names = tuple(_names(trail))
    for length in range(len(names), 0, -1):
        if names[:length] in given:
            return given[names[:length]].origin_of(trail)
    below = [each for key, each in given.items() if key[: len(names)] == names]
    return below[0].origin if below else DEFAULT


def _shown(value: object, trail: Trail) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(masked(value, *_names(trail)))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
