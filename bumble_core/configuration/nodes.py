"""Compose a text into YAML nodes under the core schema of YAML 1.2.2 (section 10.3.2), and say what is unreadable."""

from __future__ import annotations

import re
from collections.abc import Mapping

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

_NULL, _BOOL, _INT, _FLOAT, _STR = (f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))

CORE_TAGS: Mapping[type[Node], frozenset[str]] = {
    ScalarNode: frozenset({_NULL, _BOOL, _INT, _FLOAT, _STR}),
    SequenceNode: frozenset({"tag:yaml.org,2002:seq"}),
    MappingNode: frozenset({"tag:yaml.org,2002:map"}),
}

_PATTERNS = {
    _NULL: r"~|null|Null|NULL|",
    _BOOL: r"true|True|TRUE|false|False|FALSE",
    _INT: r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+",
    _FLOAT: r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
}
_COMPILED = {tag: re.compile(rf"(?:{pattern})\Z", re.ASCII) for tag, pattern in _PATTERNS.items()}


MOST_BYTES = 256_000


class Unreadable(Exception):
    """A text is no YAML; `line` counts from 1, and 0 is "not known"."""

    def __init__(self, line: int, said: str) -> None:
        super().__init__(said)
        self.line = line


def compose(data: bytes) -> Node | None:
    """Return the one document of a text in UTF-8, with or without a byte order mark; None when it is empty.

    Raises:
        Unreadable: it is not text, or not YAML.
    """
    if len(data) > MOST_BYTES:
        raise Unreadable(0, f"larger than {MOST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise Unreadable(line, f"not UTF-8 text (byte 0x{data[error.start]:02x})") from error
    try:
        return _StrictLoader(text).get_single_node()
    except yaml.YAMLError as error:
        raise _unreadable(text, error) from error
    except RecursionError as error:
        raise Unreadable(0, "nested too deeply") from error
    except (ValueError, OverflowError) as error:
        raise Unreadable(0, f"not valid YAML: {error}") from error  # an escape beyond Unicode, for one


def value_of(tag: str, text: str) -> object:
    """Return the value of a scalar.

    Raises:
        ValueError: an explicit tag does not fit the text, or a number is too long to read.
    """
    if tag == _STR:
        return text
    if not _COMPILED[tag].match(text):
        raise ValueError(text)
    if tag == _NULL:
        return None
    if tag == _BOOL:
        return text.lower() == "true"
    return _int(text) if tag == _INT else _float(text.lower())


class _StrictLoader(yaml.SafeLoader):
    """Composes nodes whose implicit tags are those of the core schema; nothing is constructed."""

    yaml_implicit_resolvers = {None: list(_COMPILED.items())}


def _unreadable(text: str, error: yaml.YAMLError) -> Unreadable:
    """Say what the parser tripped over, in particular tabs, which YAML does not take for indentation."""
    if isinstance(error, ReaderError):
        line = text[: error.position].count("\n") + 1
        return Unreadable(line, f"the character U+{ord(text[error.position]):04X} is not allowed in YAML")
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
        return Unreadable(0, f"not valid YAML: {error}")
    lines = text.splitlines()
    line_text = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line_text[: len(line_text) - len(line_text.lstrip())]:
        return Unreadable(mark.line + 1, "a tab is used for indentation; use spaces")
    said = ", ".join(str(part) for part in (error.context, error.problem) if part)
    return Unreadable(mark.line + 1, f"not valid YAML: {said} (column {mark.column + 1})")


def _float(text: str) -> float:
    return float(text.replace(".", "") if text.endswith((".inf", ".nan")) else text)


def _int(text: str) -> int:
    if text.startswith(("0o", "0x")):
        return int(text[2:], 8 if text[1] == "o" else 16)
    return int(text)
