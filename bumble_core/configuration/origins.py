"""Where each value comes from, and what wins: a flag over the environment over a file over the default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from typing_extensions import override

from .keys import Key, place_of
from .locate import expanded
from .yaml_source import Trail, parse

_FLAGS = {"home": "--home", "agent.models": "--model"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where one value was given. `name` is a file, a variable or a flag; `line` is 0 where there is none."""

    kind: Literal["default", "file", "environment", "flag"]
    name: str = ""
    line: int = 0

    @override
    def __str__(self) -> str:
        return f"{self.name}:{self.line}" if self.line else self.name or self.kind


DEFAULT = Origin(kind="default")


@dataclass(frozen=True, slots=True)
class Given:
    """One value that somebody gave; `lines` has those of the items of a list."""

    key: Key
    value: object
    origin: Origin
    lines: Mapping[Trail, int]

    def origin_of(self, trail: Trail) -> Origin:
        """Return the origin of the item at `trail`, on its own line where that is known."""
        line = self.lines.get(trail, self.origin.line)
        return Origin(kind=self.origin.kind, name=self.origin.name, line=line)


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that a person must mend, and where."""

    origin: Origin
    text: str

    @override
    def __str__(self) -> str:
        return f"{self.origin}: {self.text}"


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source gives, and what is wrong with it."""

    given: tuple[Given, ...] = ()
    wrong: tuple[Wrong, ...] = ()


def file_layer(path: Path, data: bytes, name: str) -> Layer:
    """Read a file; messages call it `name`. A relative `home` is meant from the folder of the file."""
    source = parse(data)
    wrong = tuple(Wrong(Origin(kind="file", name=name, line=each.line), each.text) for each in source.problems)

    def given(key: Key, value: object) -> Given:
        origin = Origin(kind="file", name=name, line=source.lines.get(key, 1))
        return Given(key, _anchored(key, value, path.parent), origin, source.lines)

    return Layer(tuple(given(key, value) for key, value in leaves(source.tree)), wrong)


def flag_layer(overrides: Mapping[str, object], folder: Path) -> Layer:
    """Take what an application or a command sets by dotted key."""

    def given(dotted: str, value: object) -> Given:
        key = tuple(dotted.split("."))
        origin = Origin(kind="flag", name=_FLAGS.get(dotted, "flag"))
        return Given(key, _anchored(key, value, folder), origin, {})

    return Layer(tuple(given(dotted, value) for dotted, value in overrides.items()))


def variable_given(key: Key, value: object, variable: str, folder: Path) -> Given:
    """Take one value of the environment."""
    return Given(key, _anchored(key, value, folder), Origin(kind="environment", name=variable), {})


def leaves(tree: object, key: Key = ()) -> Iterator[tuple[Key, object]]:
    """Yield each value of a tree with its key; what stands under an unknown key is one value.

    An empty section gives nothing, so that a bare `tools:` is no error.
    """
    place = place_of(key)
    if place is None or place.is_leaf:
        yield key, tree
    elif isinstance(tree, dict) and tree:
        for name, value in tree.items():
            yield from leaves(value, (*key, name))
    elif place.is_free or tree not in (None, {}):
        yield key, tree


def tree_of(given: Mapping[Key, Given]) -> dict[str, object]:
    """Put values together again; the last one given for a place stays."""
    tree: dict[str, object] = {}
    for key, each in given.items():
        _put(tree, key, each.value)
    return tree


def _put(tree: dict[str, object], key: Key, value: object) -> None:
    name, *rest = key
    if not rest:
        tree[name] = value
        return
    below = tree.setdefault(name, {})
    if isinstance(below, dict):
        _put(below, tuple(rest), value)


def _anchored(key: Key, value: object, folder: Path) -> object:
    if key != ("home",) or not isinstance(value, str | Path) or not str(value):
        return value
    return str(folder.absolute() / expanded(Path(value))) if "\0" not in str(value) else value
