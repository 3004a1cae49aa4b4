"""Make the smallest value that fits a JSON schema, as a server does whose model has nothing to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_EMPTY: Mapping[str, object] = {"boolean": False, "null": None}


def smallest_instance(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """Return a value for `schema`; `$ref` is looked up in `root`, which is the schema itself at first.

    Knows what descriptions of tools and of replies are made of: types, `properties`, `required`, `enum`, `const`,
    `anyOf`, `oneOf`, `$ref`, and the lower bounds of numbers, texts and lists. It does not know patterns.
    """
    root = schema if root is None else root
    if "$ref" in schema:
        found: Any = root
        for key in str(schema["$ref"]).removeprefix("#/").split("/"):
            found = found[key]
        return smallest_instance(found, root)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "anyOf", "oneOf"):
        if schema.get(key):
            first = schema[key][0]
            return first if key == "enum" else smallest_instance(first, root)
    return _typed(schema, root)


def _typed(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: smallest_instance(properties.get(name, {}), root) for name in schema.get("required", [])}
    if kind == "array":
        return [smallest_instance(schema.get("items", {}), root)] * schema.get("minItems", 0)
    if kind == "string":
        return "x" * schema.get("minLength", 0)
    if kind in ("integer", "number"):
        return max(0, schema.get("minimum", 0))
    return _EMPTY[kind]
