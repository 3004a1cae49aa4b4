"""Read what a model must know of a function: its parameters, their JSON schema, what its docstring says."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from typing_extensions import override

_SECTION = re.compile(r"(Args|Arguments|Parameters|Raises):\s*$")
_ITEM = re.compile(r"(\s+)(\w+)(?: \([^)]*\))?:(.*)")
_RULED = re.compile(r"([A-Z]\w+)\n-{3,}$(?:\n(?!\n*\w.*\n-{3,}$).*)*", re.MULTILINE)
_RULED_ITEM = re.compile(r"^(\w+)(?:, \w+)*(?: *:.*)?$", re.MULTILINE)
_FIELD = re.compile(r":(?:(?:param|parameter|arg|argument)\b([^:]*)|(?:type|raises)\b[^:]*):(.*)")


def name_of(function: Callable[..., Any]) -> str:
    """Return the name that a function has.

    Raises:
        TypeError: it has none, as a `partial` or an object that can be called.
    """
    name: object = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise TypeError(f"a tool is made from a function or a bound method, not from {function!r}; write one around it")
    return name


def parameters_of(function: Callable[..., Any], label: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the resolved annotation of each parameter and the defaults there are."""
    bare = inspect.unwrap(function)
    bare = bare.__func__ if isinstance(bare, MethodType) else bare
    if not isinstance(bare, FunctionType) or inspect.isgeneratorfunction(bare) or inspect.isasyncgenfunction(bare):
        raise TypeError(f"tool `{label}`: expected a function or a bound method, got {function!r}")
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
            raise TypeError(f"tool `{label}`: parameter `{key}` is {parameter.kind.description}; a model gives names")
        if parameter.annotation is parameter.empty:
            raise TypeError(f"tool `{label}`: parameter `{key}` has no annotation")
        if isinstance(parameter.default, FieldInfo):
            raise TypeError(f"tool `{label}`: parameter `{key}`: write `Annotated[TYPE, Field(...)] = DEFAULT`")
        try:
            one = SimpleNamespace(__annotations__={key: parameter.annotation})
            hints[key] = get_type_hints(one, bare.__globals__, include_extras=True)[key]
        except (NameError, SyntaxError, TypeError) as error:
            raise TypeError(f"tool `{label}`: parameter `{key}`: cannot resolve its annotation: {error}") from error
        if parameter.default is not parameter.empty:
            defaults[key] = parameter.default
    return hints, defaults


def arguments_model(
    label: str, hints: Mapping[str, Any], defaults: Mapping[str, Any], described: Mapping[str, str]
) -> tuple[type[BaseModel], dict[str, Any]]:
    """Build the model that checks arguments, and its schema. Fields go by alias: a parameter may have any name."""
    try:
        fields: dict[str, Any] = {
            f"p{index}": (
                hint,
                Field(
                    default=defaults.get(key, ...),
                    alias=key,
                    description=FieldInfo.from_annotation(hint).description or described.get(key),
                ),
            )
            for index, (key, hint) in enumerate(hints.items())
        }
        model = create_model(label, __config__=ConfigDict(extra="forbid"), **fields)
        schema = model.model_json_schema(schema_generator=_ToolSchema)
    except PydanticUserError as error:
        key = next((key for key, hint in hints.items() if not _has_schema(hint)), "?")
        reason = error.message.splitlines()[0]
        raise TypeError(f"tool `{label}`: parameter `{key}`: no JSON schema for its annotation: {reason}") from error
    for part in (schema, *schema.get("$defs", {}).values()):
        part.pop("title", None)
        if "properties" in part:
            part.setdefault("additionalProperties", False)
    return model, {"type": "object", "properties": {}, **schema}


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Separate what a function does from what its parameters mean, in Google's, NumPy's or reST's way of writing."""
    kept: list[str] = []
    found: dict[str, str] = {}
    section, name, indent = "", "", 0
    for line in _RULED.sub(_unruled, inspect.cleandoc(text)).splitlines():
        if heading := _SECTION.match(line):
            section, name, indent = heading[1], "", 0
        elif field := _FIELD.match(line):
            section, name = "field", ["", *(field[1] or "").split()][-1]
            found[name] = field[2].strip()
        elif section and (not line.strip() or line[0].isspace()):
            item = _ITEM.match(line) if section not in {"Raises", "field"} else None
            if item and (not indent or len(item[1]) == indent):
                name, indent = item[2], len(item[1])
                found[name] = item[3].strip()
            else:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
        else:
            section = ""
            kept.append(line)
    return "\n".join(kept).strip(), found


def _unruled(section: re.Match[str]) -> str:
    """Write a section of NumPy's kind, a heading underlined and items at the margin, as one of Google's."""
    heading, _, *lines = section[0].split("\n")
    body = "\n".join(lines)
    if _SECTION.match(f"{heading}:"):
        body = _RULED_ITEM.sub(r"\1:", body)
    return "\n".join((f"{heading}:", *(f"    {line}" if line else "" for line in body.split("\n"))))


def _has_schema(hint: Any) -> bool:
    try:
        TypeAdapter(hint).json_schema(schema_generator=_ToolSchema)
    except PydanticUserError:
        return False
    return True


class _ToolSchema(GenerateJsonSchema):
    """Pydantic's schema without titles, which cost tokens and say nothing; defaults that are not JSON are left out."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {"skipped-choice", "non-serializable-default"}

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
