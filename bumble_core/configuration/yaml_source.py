"""Read strict YAML: the core schema of YAML 1.2, no duplicate keys, no foreign tags, and the line of every value.

So `yes`, `no`, `on`, `12:30` and `1_000` are text, `0o17` is a number, and `!!python/...` is refused unseen. Aliases
and merge keys (`<<`) work; what they expand to is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from .nodes import CORE_TAGS, Unreadable, compose, value_of

Trail = tuple[str | int, ...]

_MOST_VALUES = 20_000  # what a file and its aliases may expand to; a configuration has dozens
_DEEPEST = 60
_PREFIX = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file; `line` counts from 1, and 0 is "not known"."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """What a text says. A value with a problem of its own is left out of `tree`."""

    tree: dict[str, object]
    lines: Mapping[Trail, int] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def parse(data: bytes) -> Source:
    """Read a file; never raises, whatever `data` is. An empty file is an empty mapping."""
    reading = _Reading()
    found = reading.document(data)
    if reading.problems or found is None:
        return Source(found if isinstance(found, dict) else {}, reading.lines, tuple(reading.problems))
    if not isinstance(found, dict):
        kind = "a list" if isinstance(found, list) else f"{str(found)[:40]!r}"
        return Source({}, {}, (Problem(1, f"expected a mapping of keys to values, got {kind}"),))
    return Source(found, reading.lines)


def parse_value(text: str) -> object:
    """Read one value, as from an environment variable.

    Raises:
        ValueError: it is not valid; the message says why.
    """
    reading = _Reading()
    found = reading.document(text.encode("utf-8", "replace"))
    if reading.problems:
        raise ValueError(reading.problems[0].text)
    return found


class _UnusableError(Exception):
    """The value at hand has a problem, which is already noted."""


class _Reading:
    """Turns nodes into values, keeping lines and problems by the way."""

    def __init__(self) -> None:
        self.lines: dict[Trail, int] = {}
        self.problems: list[Problem] = []
        self._count = 0
        self._open: set[int] = set()

    def document(self, data: bytes) -> object:
        try:
            node = compose(data)
            return self._value(node, ()) if node else None
        except Unreadable as error:
            self.problems.append(Problem(error.line, str(error)))
        except _UnusableError:
            pass
        return None

    def _value(self, node: Node, trail: Trail) -> object:
        self._count += 1
        if self._count > _MOST_VALUES:
            raise Unreadable(0, f"expands to more than {_MOST_VALUES:,} values")
        if len(trail) > _DEEPEST:
            raise Unreadable(_line(node), "nested too deeply")
        self.lines.setdefault(trail, _line(node))
        if node.tag not in CORE_TAGS[type(node)]:
            raise self._unusable(node, trail, f"the tag `{_shown(node.tag)}` is not allowed; write the plain value")
        if isinstance(node, ScalarNode):
            return self._scalar(node, trail)
        if id(node) in self._open:
            raise self._unusable(node, trail, "an alias stands inside of what it repeats")
        self._open.add(id(node))
        try:
            return self._mapping(node, trail) if isinstance(node, MappingNode) else self._list(node, trail)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: ScalarNode, trail: Trail) -> object:
        try:
            return value_of(node.tag, node.value)
        except ValueError as error:
            raise self._unusable(node, trail, f"{node.value[:40]!r} is no `{_shown(node.tag)}`") from error

    def _list(self, node: Node, trail: Trail) -> list[object]:
        return [self._value(item, (*trail, index)) for index, item in enumerate(node.value)]

    def _mapping(self, node: MappingNode, trail: Trail) -> dict[str, object]:
        found: dict[str, object] = {}
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            with suppress(_UnusableError):
                if _is_merge(key_node):
                    continue
                key = self._key(key_node, trail)
                if key in first:
                    raise self._unusable(key_node, (*trail, key), f"given twice, first on line {first[key]}")
                first[key] = _line(key_node)
                self.lines.setdefault((*trail, key), first[key])
                found[key] = self._value(value_node, (*trail, key))
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                self._merge(found, value_node, trail)
        return found

    def _merge(self, found: dict[str, object], node: Node, trail: Trail) -> None:
        """Add what `<<` brings; keys of the mapping itself win, and earlier merges win over later ones."""
        for each in node.value if isinstance(node, SequenceNode) else (node,):
            with suppress(_UnusableError):
                if not isinstance(each, MappingNode):
                    raise self._unusable(each, trail, "`<<` merges mappings only")
                brought = self._value(each, trail)
                if isinstance(brought, dict):
                    found.update({key: value for key, value in brought.items() if key not in found})

    def _key(self, node: Node, trail: Trail) -> str:
        if isinstance(node, ScalarNode) and node.tag == f"{_PREFIX}str":
            return str(node.value)
        written = f"`{node.value}`; write it in quotes" if isinstance(node, ScalarNode) else "a mapping or a list"
        raise self._unusable(node, trail, f"expected text as a key, got {written}")

    def _unusable(self, node: Node, trail: Trail, text: str) -> _UnusableError:
        key = dotted(trail)
        self.problems.append(Problem(_line(node), f"{key}: {text}" if key else text))
        return _UnusableError(text)


def dotted(trail: Trail) -> str:
    """Return a trail as it is written in messages: `agent.models[1]`."""
    return "".join(_steps(trail)).removeprefix(".")


def _steps(trail: Trail) -> Iterator[str]:
    for step in trail:
        yield f"[{step}]" if isinstance(step, int) else f".{step if step.isprintable() else ascii(step)}"


def _is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.value == "<<" and node.style is None


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _shown(tag: str) -> str:
    return f"!!{tag.removeprefix(_PREFIX)}" if tag.startswith(_PREFIX) else tag
