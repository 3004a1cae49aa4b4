"""Assemble tool calls from the pieces that servers send them in."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import JsonValue

from ..types.base import new_id
from ..types.messages import ToolCall
from .text import whole_characters

_DEEPEST = 64  # levels of nesting; pydantic refuses some 250, and no tool takes a tenth of this


@dataclass(slots=True)
class _Open:
    """A call that may still grow."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    chunk: int = 0

    @property
    def raw(self) -> str:
        return "".join(self.pieces)

    @property
    def is_complete(self) -> bool:
        ended = bool(self.pieces) and self.pieces[-1].rstrip().endswith("}")  # spares parsing at every piece
        return ended and not read_arguments(self.raw)[1]


class CallAssembler:
    """Finds out which call a piece belongs to.

    Servers leave out the index or send 0 for every call; leave out the id, repeat it or send it late; repeat the
    name or send it in pieces; send arguments as text, as an object, as null, or not at all.
    """

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._chunk = 0

    def __len__(self) -> int:
        return len(self._open)

    def feed(self, entries: object) -> None:
        """Take the `tool_calls` of one chunk; what is not a call is passed over."""
        self._chunk += 1
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict):
                self._add(entry)

    def calls(self, problem: str = "") -> tuple[ToolCall, ...]:
        """Return the calls with ids that are unique among them; `problem` keeps all of them from being run."""
        taken: set[str] = set()
        calls = []
        for each in self._open:
            arguments, why = read_arguments(each.raw)
            why = problem or why or ("" if each.name else "the call names no tool")
            identity = each.id if each.id and each.id not in taken else new_id("call")
            taken.add(identity)
            raw = whole_characters(each.raw) if why else ""
            calls.append(
                ToolCall(id=identity, name=whole_characters(each.name), arguments=arguments, problem=why, raw=raw)
            )
        return tuple(calls)

    def _add(self, entry: Mapping[str, Any]) -> None:
        function = entry.get("function")
        function = function if isinstance(function, dict) else entry
        index, identity = entry.get("index"), entry.get("id")
        piece = _Open(
            index=index if isinstance(index, int) else None,
            id=whole_characters(identity) if isinstance(identity, str) else "",
            name=name if isinstance(name := function.get("name"), str) else "",
            pieces=_argument_pieces(function.get("arguments")),
            chunk=self._chunk,
        )
        target = self._target(piece)
        if target is None:
            self._open.append(piece)
            return
        target.id = target.id or piece.id
        target.name = _joined_name(target, piece.name)
        target.pieces += piece.pieces
        target.chunk = self._chunk

    def _target(self, piece: _Open) -> _Open | None:
        """Return the call that `piece` continues; None when it begins one."""
        near = [each for each in self._open if piece.index is None or each.index == piece.index]
        if piece.id:
            known = next((each for each in reversed(near) if each.id == piece.id), None)
            if known is not None:
                return known
        last = near[-1] if near else None
        if last is None or (piece.id and last.id):
            return None
        return None if self._begins(piece, last) else last

    def _begins(self, piece: _Open, last: _Open) -> bool:
        """Tell whether `piece`, which has no id of its own to tell by, is another call than `last`."""
        if not piece.name or not last.name:
            return False
        if last.chunk == self._chunk:  # two entries with names in one chunk
            return True
        if last.is_complete:
            return bool(piece.pieces) or piece.name != last.name
        return piece.index is None and not last.pieces and piece.name != last.name


def read_arguments(raw: str) -> tuple[dict[str, JsonValue], str]:
    """Return the arguments and an empty text, or an empty mapping and what is wrong with them.

    No arguments at all, as some servers send for a tool without parameters, are an empty object.
    """
    if not raw.strip():
        return {}, ""
    try:
        parsed = _decoder.decode(raw)
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not valid JSON: {error}"
    if not isinstance(parsed, dict):
        return {}, f"the arguments must be a JSON object, not {_kind(parsed)}"
    try:
        return {whole_characters(key): _clean(value, 1) for key, value in parsed.items()}, ""
    except ValueError as error:
        return {}, f"the arguments cannot be used: {error}"


def _joined_name(target: _Open, name: str) -> str:
    if not name or name == target.name or (target.pieces and target.name):
        return target.name
    return name if name.startswith(target.name) else target.name + name


def _argument_pieces(arguments: object) -> list[str]:
    if arguments is None or arguments == "":
        return []
    return [arguments if isinstance(arguments, str) else json.dumps(arguments)]


def _clean(value: Any, depth: int) -> JsonValue:
    if depth > _DEEPEST:
        raise ValueError(f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, dict):
        return {whole_characters(key): _clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1) for item in value]
    known: JsonValue = value
    return known


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is out of range")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)  # making one costs more than a small call


def _kind(value: object) -> str:
    kinds = ((bool, "a boolean"), (str, "a text"), (list, "a list"), (int | float, "a number"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")
