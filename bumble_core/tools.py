"""Make a tool from a typed function: its schema from the signature, its arguments checked before the call."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypedDict, Unpack, overload

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from .errors import ContractError, ToolError
from .misfits import did_you_mean, misfit, path_of, shown
from .signatures import arguments_model, name_of, parameters_of, read_docstring
from .threads import Threads
from .types.inference import ToolSpec
from .types.messages import ToolCall, ToolResult
from .types.turn import TurnContext

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what chat completion servers accept


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTool:
    """A function that is called only with arguments that fit its signature.

    Coroutine functions are awaited. A plain function has a daemon thread to itself, so that one that never returns
    holds up neither other tools nor the end of the process; when its caller is cancelled it runs on unheard.
    """

    spec: ToolSpec
    is_work: bool
    function: Callable[..., Any]
    arguments: type[BaseModel]
    turn_parameters: tuple[str, ...] = ()
    asks_first: bool = False
    timeout_s: float | None = None
    threads: Threads = field(compare=False, repr=False)

    async def call(self, call: ToolCall, turn: TurnContext) -> ToolResult:
        """Call the function once.

        Raises:
            ToolError: the arguments do not fit; the text tells the model what to change.
            ContractError: the function returned something that cannot be written as JSON, or a generator.
        """
        values = self._checked(call.arguments) | dict.fromkeys(self.turn_parameters, turn)
        if inspect.iscoroutinefunction(self.function):
            answer = await self.function(**values)
        else:
            answer = await self.threads.run(partial(self.function, **values))
            if inspect.isawaitable(answer):
                answer = await answer
        return self._result(answer, call)

    def _checked(self, given: Mapping[str, JsonValue]) -> dict[str, Any]:
        try:
            found = self.arguments.model_validate_json(json.dumps(_whole_numbers(given)), strict=True)
        except ValidationError as error:
            if error.errors(include_url=False)[0]["type"] == "json_invalid":
                problem = "a text among the arguments holds half a character (a lone surrogate)"
                raise ToolError(f"`{self.spec.name}` was not run: {problem}") from error
            raise ToolError(_explained(self.spec.name, error, self.arguments)) from error
        fields = self.arguments.model_fields
        return {str(fields[key].alias): getattr(found, key) for key in found.model_fields_set}

    def _result(self, answer: object, call: ToolCall) -> ToolResult:
        owned = {"call_id": call.id, "name": call.name, "is_work": self.is_work}
        if isinstance(answer, ToolResult):
            return answer.model_copy(update=owned)
        try:
            content = _as_text(self.spec.name, answer)
            return ToolResult(call_id=call.id, name=call.name, content=content, is_work=self.is_work)
        except (PydanticSerializationError, ValueError) as error:
            raise ContractError(f"tool `{self.spec.name}` returned what is not JSON: {error}") from error


class ToolTraits(TypedDict, total=False):
    """What may be said of a tool beside its function: the keyword arguments of `tool`."""

    name: str
    description: str
    is_work: bool
    asks_first: bool
    timeout_s: float


@overload
def tool(function: Callable[..., Any], **traits: Unpack[ToolTraits]) -> FunctionTool: ...
@overload
def tool(**traits: Unpack[ToolTraits]) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None, **traits: Unpack[ToolTraits]
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Return a tool named after `function`, described by its docstring, typed by its annotations.

    Also a decorator: `@tool`, `@tool(is_work=False)`. `asks_first` has a person asked before each call, unless the
    configuration names the tool; `timeout_s` is how long a call may take, unless the configuration says.

    Parameters are described by `Annotated[..., Field(description=...)]` or by the docstring (Google's `Args:` or
    reST's `:param x:`). One annotated `TurnContext` receives the turn and is not shown to the model. A `ToolResult`
    is passed on with its call's id and name filled in, text as it is, `None` as `done`, anything else as JSON.

    Raises:
        TypeError: a parameter cannot be offered to a model; the message names it.
    """
    if function is None:
        return lambda made: tool(made, **traits)
    label = traits.get("name") or name_of(function)
    if not _NAME.fullmatch(label):
        raise TypeError(f"tool `{label}`: a name has 1 to 64 letters, digits, `_` or `-`; give one with `name=`")
    text, described = read_docstring(function.__doc__ or "")
    hints, defaults = parameters_of(function, label)
    turn_parameters = tuple(key for key, hint in hints.items() if hint is TurnContext)
    fields = {key: hint for key, hint in hints.items() if hint is not TurnContext}
    arguments, schema = arguments_model(label, fields, defaults, described)
    return FunctionTool(
        spec=ToolSpec(name=label, description=traits.get("description", text), parameters=schema),
        is_work=traits.get("is_work", True),
        function=function,
        arguments=arguments,
        turn_parameters=turn_parameters,
        asks_first=traits.get("asks_first", False),
        timeout_s=traits.get("timeout_s"),
        threads=Threads(f"tool-{label}"),
    )


def _whole_numbers(value: Any) -> Any:
    """Return JSON with `5.0` as `5`: JSON does not tell them apart, and some servers send every number with a point."""
    if isinstance(value, Mapping):
        return {key: _whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _explained(name: str, error: ValidationError, arguments: type[BaseModel]) -> str:
    known = [str(field.alias) for field in arguments.model_fields.values()]
    problems = []
    for found in error.errors(include_url=False, include_context=False):
        path = path_of(found["loc"])
        if found["type"] == "extra_forbidden":
            near = did_you_mean(str(found["loc"][-1]), known if len(found["loc"]) == 1 else ())
            problems.append(f"`{path}` is not an argument{near}")
        elif found["type"] == "missing":
            problems.append(f"`{path}` is missing")
        else:
            problems.append(f"`{path}`: {found['msg']}, got {shown(found['input'])}")
    return misfit(name, problems, known)


def _as_text(name: str, answer: object) -> str:
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Iterator):  # it may be endless, and what it does would be done here
        raise ContractError(f"tool `{name}` returned a {type(answer).__name__}; return a list")
    return "done" if answer is None else json.dumps(to_jsonable_python(answer), ensure_ascii=False)
