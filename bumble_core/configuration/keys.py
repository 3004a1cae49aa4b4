"""What the settings know about a dotted key: whether it exists, what it expects, and which name is near."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ..types.inference import ModelRef
from ..types.settings import Plugins, Settings

Key = tuple[str, ...]

_EXPECTED: dict[object, tuple[str, str]] = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("`true` or `false`", "switches"),
    str: ("text", "texts"),
    Path: ("a path", "paths"),
    timedelta: ("a duration: seconds, or text such as `PT5M`", "durations"),
    ModelRef: ("a model's name or `provider:model`", "models, each a name or `provider:model`"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One place in the configuration.

    A section has named places below it; `rest` is what stands under any other name, None where there is no other. A
    place without either is a leaf: one value, described by `annotation` and `field`.
    """

    annotation: Any = Any
    field: FieldInfo | None = None
    limits: tuple[object, ...] = ()
    section: type[BaseModel] | None = None
    rest: Place | None = None
    is_free: bool = False

    @property
    def is_leaf(self) -> bool:
        return not self.is_free and self.section is None and self.rest is None

    @property
    def is_list(self) -> bool:
        return self.is_leaf and get_origin(self.annotation) is tuple

    @property
    def takes_text(self) -> bool:
        return self.is_leaf and (self.annotation in {str, Path} or get_origin(self.annotation) is Literal)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that this section knows itself."""
        if self.section is None:
            return ()
        return tuple(name for name in self.section.model_fields if (self.section, name) != (Plugins, "sections"))

    def child(self, name: str) -> Place | None:
        if self.is_free:
            return self
        if self.section is not None and name in self.section.model_fields:
            field = self.section.model_fields[name]
            return _place(field.annotation, field) if name in self.names else None
        return self.rest

    @property
    def expected(self) -> str:
        """What belongs here, in words: "a whole number greater than 0"."""
        if not self.is_leaf:
            return "a mapping"
        if self.is_list:
            return f"a list of {_EXPECTED[_plain(get_args(self.annotation)[0])][1]}"
        if get_origin(self.annotation) is Literal:
            return " or ".join(f"`{word}`" for word in get_args(self.annotation))
        return " ".join([_EXPECTED[self.annotation][0], *([" and ".join(self._bounds)] if self._bounds else [])])

    @property
    def expected_item(self) -> str:
        """What one item of this list is."""
        return _EXPECTED[_plain(get_args(self.annotation)[0])][0] if self.is_list else self.expected

    @property
    def _bounds(self) -> list[str]:
        limits = {type(limit).__name__: limit for limit in (*self.limits, *(self.field.metadata if self.field else ()))}
        if "MinLen" in limits:
            return ["that is not empty"]
        words = {"Gt": "greater than", "Ge": "at least", "Lt": "less than", "Le": "at most"}
        return [f"{words[name]} {getattr(limits[name], name.lower())}" for name in words if name in limits]


ROOT = Place(section=Settings)
_FREE = Place(is_free=True)


def place_of(key: Key) -> Place | None:
    """Return the place that `key` names, or None when there is none."""
    place: Place | None = ROOT
    for name in key:
        place = place.child(name) if place else None
    return place


def known_keys(place: Place = ROOT, above: Key = ()) -> Iterator[tuple[Key, Place]]:
    """Yield every key that holds a value, with `NAME` where any name can stand."""
    if place.is_leaf or place.is_free:
        yield above, place
        return
    for name in place.names:
        child = place.child(name)
        if child:
            yield from known_keys(child, (*above, name))
    if place.rest:
        yield from known_keys(place.rest, (*above, "NAME"))


def advice(key: Key) -> str:
    """Say for an unknown key which one may be meant: the nearest in its section, or where that name belongs."""
    *above, name = key
    parent = place_of(tuple(above))
    siblings = parent.names if parent else ()
    near = difflib.get_close_matches(name, siblings, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    homes = [".".join(other) for other in _all_names() if other[-1] == name]
    if homes:
        return f"it belongs at `{homes[0]}`"
    far = difflib.get_close_matches(name, [other[-1] for other in _all_names()], n=1, cutoff=0.8)
    if far:
        return f"did you mean `{next('.'.join(other) for other in _all_names() if other[-1] == far[0])}`?"
    return f"known here: {', '.join(siblings)}" if siblings else "no key stands here"


def _all_names() -> list[Key]:
    """Every key and every section above one, shortest first, without those under names of the user's choice."""
    keys = [key for key, _ in known_keys()]
    found = {key[:length] for key in keys for length in range(1, len(key) + 1)}
    return sorted((key for key in found if "NAME" not in key[-1:]), key=lambda key: (len(key), key))


def _place(annotation: object, field: FieldInfo | None) -> Place:
    plain = _plain(annotation)
    if plain is Plugins:
        return Place(section=Plugins, rest=_FREE)
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return Place(section=plain)
    if get_origin(plain) is dict:
        return Place(rest=_place(get_args(plain)[1], None))
    return Place(annotation=plain, field=field, limits=tuple(_limits(annotation)))


def _plain(annotation: object) -> Any:
    """Strip what annotates a type, and the None of an optional one."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        return _plain(next(each for each in get_args(annotation) if each is not type(None)))
    return annotation


def _limits(annotation: object) -> Iterator[object]:
    """Yield what bounds the values of a type, wherever it is annotated."""
    for part in get_args(annotation):
        if isinstance(part, FieldInfo):
            yield from part.metadata
        else:
            yield part
            yield from _limits(part)
