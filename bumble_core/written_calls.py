"""Read tool calls that a model wrote as text.

Strict: calls are one JSON object `{"calls": [{"name": …, "arguments": {…}}]}` that is the whole reply, or all that
stands in the reply's one fenced block. Anything else is words. What is such an object but does not parse or fit
becomes a call with a `problem`, so that it is never run and the model is told why.
"""

from __future__ import annotations

import re

from pydantic import JsonValue

from .chat import read_arguments
from .types.inference import Completion, Finish
from .types.messages import Part, Text, ToolCall

_FENCE = "```"
_LANGUAGE = re.compile(r"[a-z_]*\s*")
_BEGINS = re.compile(r'\{\s*"calls"')
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,64})"')
_CUT = "the message was cut at its maximum length, so this call may be incomplete and was not run"


def understood(completion: Completion) -> Completion:
    """Return `completion` with the calls that its text holds as calls; without any, it comes back itself.

    No call of a message cut by its length may run.
    """
    is_cut = completion.finish == "length"
    words, calls = read_calls(completion.message.text, is_cut=is_cut)
    if words == completion.message.text:
        return completion
    others: tuple[Part, ...] = tuple(part for part in completion.message.parts if not isinstance(part, Text))
    said: tuple[Part, ...] = (Text(text=words),) if words else ()
    finish: Finish = completion.finish if is_cut or not calls else "tool_calls"
    message = completion.message.model_copy(update={"parts": (*others, *said, *calls)})
    return completion.model_copy(update={"message": message, "finish": finish})


def read_calls(text: str, *, is_cut: bool = False) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the words of a reply and its calls; a reply without calls comes back as it is."""
    words, body = _parted(text, is_cut=is_cut)
    if not _BEGINS.match(body):
        return text, ()
    parsed, problem = read_arguments(body)
    if problem:
        name = found[1] if (found := _NAME.search(body)) else ""
        return words, (ToolCall(name=name, problem=_CUT if is_cut else problem, raw=body),)
    entries = parsed["calls"]
    if not isinstance(entries, list):
        return text, ()
    return words, tuple(_call(entry, is_cut=is_cut) for entry in entries)


def is_one_object(text: str) -> bool:
    """Tell whether a reply is an object of calls and nothing else, as a schema forces it."""
    body = text.strip()
    return bool(_BEGINS.match(body)) and not read_arguments(body)[1]


class CallWatch:
    """Lets the words of a streamed reply through, and holds what may turn out to be calls."""

    def __init__(self) -> None:
        self._said = False
        self._holds = False
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what is certainly words."""
        if self._holds:
            self._held += piece
            return ""
        text, self._held = self._held + piece, ""
        if not self._said and text.lstrip()[:1] in ("", "{"):
            self._holds = bool(text.strip())
            self._held = text
            return ""
        self._said = True
        return self._words(text)

    def _words(self, text: str) -> str:
        place = text.find(_FENCE)
        if place >= 0:
            self._holds, self._held = True, text[place:]
            return text[:place]
        ticks = len(text) - len(text.rstrip("`"))
        self._held = text[len(text) - ticks :] if ticks else ""
        return text[: len(text) - ticks]


def _parted(text: str, *, is_cut: bool) -> tuple[str, str]:
    """Return the words and what may be an object of calls."""
    bare = text.strip()
    if bare.startswith("{"):
        return "", bare
    start, end = text.find(_FENCE), text.rfind(_FENCE)
    if start < 0 or (start == end and not is_cut):
        return text, ""
    before, inside = text[:start].strip(), text[start + len(_FENCE) : end if end > start else len(text)]
    after = text[end + len(_FENCE) :].strip() if end > start else ""
    body = inside[found.end() :] if (found := _LANGUAGE.match(inside)) else inside
    return "\n\n".join(part for part in (before, after) if part), body.strip()


def _call(entry: JsonValue, *, is_cut: bool) -> ToolCall:
    if not isinstance(entry, dict):
        return ToolCall(name="", problem="a call must be an object with `name` and `arguments`")
    name, arguments = entry.get("name"), entry.get("arguments")
    name = name if isinstance(name, str) else ""
    if not name:
        return ToolCall(name="", problem="the call names no tool")
    if not isinstance(arguments, dict):
        return ToolCall(name=name, problem="the call has no object `arguments`")
    if unknown := sorted(entry.keys() - {"name", "arguments"}):
        return ToolCall(name=name, problem=f"a call has `name` and `arguments`, and no `{unknown[0]}`")
    return ToolCall(name=name, arguments=arguments, problem=_CUT if is_cut else "")
