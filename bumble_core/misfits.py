"""Words for arguments that do not fit, written so that a model can correct them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from pydantic import JsonValue

from .deferred import Deferred

_MOST_PROBLEMS = 5
_LONGEST_VALUE = 80
_LONGEST_NAME = 100
_MOST_ERRORS_READ = 50

_validator_for = Deferred("jsonschema_rs:validator_for")


class ArgumentCheck:
    """Holds the arguments of one tool against its JSON schema, which is compiled once.

    Raises:
        ValueError: the schema is invalid, or refers to something outside itself.
    """

    def __init__(self, name: str, schema: Mapping[str, JsonValue]) -> None:
        self._name, self._schema = name, schema
        self._validator = _validator_for(dict(schema), mask="the value", retriever=_no_remote_schema)

    def misfit(self, arguments: Mapping[str, JsonValue]) -> str | None:
        """Return what is wrong with `arguments`, or None when they fit."""
        errors = list(islice(self._validator.iter_errors(dict(arguments)), _MOST_ERRORS_READ))
        problems = [text for error in errors for text in _problems(error, self._schema)]
        return misfit(self._name, problems, _properties(self._schema)) if problems else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean `x`?)`` when one of `known` is near, else nothing."""
    near = get_close_matches(name[:_LONGEST_NAME], list(known), n=1)
    return f" (did you mean `{near[0]}`?)" if near else ""


def shown(value: object) -> str:
    """Return `value` as JSON, cut after 80 characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    cut = text[:_LONGEST_VALUE] + ("…" if len(text) > _LONGEST_VALUE else "")
    return json.dumps(cut, ensure_ascii=False) if isinstance(value, str) else cut


def path_of(location: Iterable[str | int]) -> str:
    """Return `items[0].name` for `("items", 0, "name")`; `arguments` for the whole."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location).lstrip(".")
    return text or "arguments"


def misfit(name: str, problems: Iterable[str], known: Iterable[str]) -> str:
    """Say that the arguments of tool `name` do not fit, with the first few problems, and which it takes."""
    found = list(problems)
    rest = f"; and {len(found) - _MOST_PROBLEMS} more" if len(found) > _MOST_PROBLEMS else ""
    takes = ", ".join(f"`{key}`" for key in known) or "no arguments"
    return f"`{name}` was not run: {'; '.join(found[:_MOST_PROBLEMS])}{rest}. It takes {takes}."


def _problems(error: Any, schema: object) -> Iterator[str]:
    """Say what one schema error means; a union is explained by its nearest branch."""
    path, facts = list(error.instance_path), error.kind.as_dict()
    where = f"`{path_of(path)}`"
    match error.kind.name:
        case "type":
            yield f"{where}: expected {' or '.join(facts['types'])}, got {shown(error.instance)}"
        case "required":
            yield f"`{path_of([*path, facts['property']])}` is missing"
        case "additionalProperties":
            known = _properties(schema, tuple(error.schema_path[:-1]))
            for name in facts["unexpected"]:
                yield f"`{path_of([*path, name])}` is not an argument{did_you_mean(name, known)}"
        case "anyOf" | "oneOf" if any(facts["context"]):
            yield from _branch_problems(error, schema)
        case _:
            yield f"{where}: {error.message}, got {shown(error.instance)}"


def _branch_problems(error: Any, schema: object) -> Iterator[str]:
    branches = [branch for branch in error.kind.as_dict()["context"] if branch]
    wrong_kind = [branch for branch in branches if branch[0].kind.name == "type"]
    wrong_kind = [branch for branch in wrong_kind if branch[0].instance_path == error.instance_path]
    if len(wrong_kind) == len(branches):
        types = " or ".join(name for branch in branches for name in branch[0].kind.as_dict()["types"])
        yield f"`{path_of(error.instance_path)}`: expected {types}, got {shown(error.instance)}"
        return
    for inner in min((branch for branch in branches if branch not in wrong_kind), key=len):
        yield from _problems(inner, schema)


def _properties(schema: object, path: Iterable[str | int] = ()) -> tuple[str, ...]:
    """Return the names of the properties of the object that `path` leads to inside `schema`."""
    for step in path:
        if isinstance(schema, list) and isinstance(step, int):
            schema = schema[step]
        elif isinstance(schema, Mapping):
            schema = schema.get(step)
    return tuple(schema.get("properties", ())) if isinstance(schema, Mapping) else ()


def _no_remote_schema(uri: str) -> object:
    raise ValueError(f"a tool's schema may not refer to {uri}")
