"""Settings from the environment: `BUMBLE_HOME`, `BUMBLE_MODEL`, and `BUMBLE__SECTION__KEY` for every key.

Text and paths are taken as they are; a list is separated by commas or written in brackets; everything else is read
as YAML. An empty variable counts as not set.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from .keys import Key, Place, known_keys, place_of
from .origins import Given, Layer, Origin, Wrong, leaves, variable_given
from .yaml_source import parse_value

_PREFIX = "BUMBLE__"
_SHORT: Mapping[str, Key] = {"BUMBLE_HOME": ("home",), "BUMBLE_MODEL": ("agent", "models")}


def environment_layer(environment: Mapping[str, str], folder: Path) -> Layer:
    """Read the variables that set something. A relative `home` is meant from `folder`."""
    given: list[Given] = []
    wrong: list[Wrong] = []
    for variable in sorted(environment):
        text = environment[variable]
        key = _SHORT.get(variable) or _key_of(variable)
        if key is None or not text.strip():
            continue
        place = place_of(key)
        if place is None:
            wrong.append(Wrong(_origin(variable), f"no such setting; {_nearest(variable)}"))
            continue
        try:
            values = leaves(_value(text, place), key)
            given.extend(variable_given(each, value, variable, folder) for each, value in values)
        except ValueError as error:
            wrong.append(Wrong(_origin(variable), str(error)))
    return Layer(tuple(given), tuple(wrong))


def _origin(variable: str) -> Origin:
    return Origin(kind="environment", name=variable)


def _key_of(variable: str) -> Key | None:
    return tuple(variable.removeprefix(_PREFIX).lower().split("__")) if variable.startswith(_PREFIX) else None


def _value(text: str, place: Place) -> object:
    if place.takes_text:
        return text
    if place.is_list and not text.lstrip().startswith("["):
        return [item.strip() for item in text.split(",") if item.strip()]
    return parse_value(text)


def _nearest(variable: str) -> str:
    known = [_PREFIX + "__".join(key).upper() for key, _ in known_keys()]
    near = difflib.get_close_matches(variable, known, n=1)
    return f"did you mean `{near[0]}`?" if near else "`bumble config schema` lists them"
