"""Count tokens by characters: the documented estimator, corrected by script and by what servers report."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import structlog
from pydantic import Field, ValidationError

from ..atomic import write_atomically
from ..memo import PerMessage
from ..ports import Files
from ..text_tokens import tokens_of
from ..types.base import Value
from ..types.inference import ModelRef, ToolSpec
from ..types.messages import Image, Message, Text, Thinking, ToolCall, ToolResult

log = structlog.get_logger(__name__)

_FILE = "token_factors.json"
_PER_MESSAGE = 10  # `len(text) // 4 + 10` a message: Bumblebee's Cognition page
_PLAIN = json.JSONEncoder(ensure_ascii=False)
_PER_IMAGE = 765  # a 1024 x 1024 picture at OpenAI's high detail, 2024
_LOWEST, _HIGHEST = 0.35, 4.0  # what lies beyond is no measure of this text: a server that leaves out what it cached
_WHOLLY_BELIEVED = 1000  # tokens; in fewer the fixed parts of a template weigh too much


class _Kept(Value):
    """The file: a factor per `provider:model`."""

    factors: dict[str, float] = Field(default={})


class CharacterCounter:
    """Reads each message once; what a model's server reported changes only that model's factor.

    With a home the factors outlive the process: they are read at the first count and written by `aclose`.
    """

    def __init__(self, home: Path | None = None, files: Files | None = None) -> None:
        self._path = home / _FILE if home is not None and files is not None else None
        self._files = files
        self._factors: dict[str, float] | None = None
        self._learned: dict[str, float] = {}
        self._messages = PerMessage(_message)
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)

    def count(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], model: ModelRef | None) -> int:
        if tools != self._tools[0]:  # they are the same from step to step, but for the last
            self._tools = (tools, sum(map(_tool, tools)))
        return int((sum(self._messages(messages)) + self._tools[1]) * self._factor(model))

    def learn(self, estimated: int, actual: int, model: ModelRef) -> None:
        """Take what a server counted for a request estimated at `estimated` tokens; a long one is wholly believed."""
        if estimated <= 0 or actual <= 0:
            return
        known = self._factor(model)
        measured = known * actual / estimated
        if _LOWEST <= measured <= _HIGHEST:
            self._learned[str(model)] = known + min(1.0, actual / _WHOLLY_BELIEVED) * (measured - known)

    async def aclose(self) -> None:
        """Keep what was learned for the next process."""
        if self._learned:
            await asyncio.to_thread(self._write)

    def _factor(self, model: ModelRef | None) -> float:
        if self._factors is None:
            self._factors = self._read()
        name = str(model)
        return self._learned.get(name, self._factors.get(name, 1.0))

    def _read(self) -> dict[str, float]:
        if self._path is None or self._files is None:
            return {}
        try:
            with self._files.open(self._path, "rb") as handle:
                found = _Kept.model_validate_json(handle.read()).factors
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            log.warning("token_factors.unreadable", path=str(self._path), error=type(error).__name__)
            return {}
        return {name: factor for name, factor in found.items() if _LOWEST <= factor <= _HIGHEST}

    def _write(self) -> None:
        if self._path is None or self._files is None:
            return
        factors = {name: round(factor, 4) for name, factor in {**self._read(), **self._learned}.items()}
        text = _Kept(factors=dict(sorted(factors.items()))).model_dump_json(indent=2) + "\n"
        try:
            write_atomically(self._files, self._path, text.encode())
        except OSError as error:
            log.warning("token_factors.not_kept", path=str(self._path), error=str(error))


def _message(message: Message) -> int:
    return _PER_MESSAGE + sum([_part(part) for part in message.parts])


def _part(part: Text | Thinking | Image | ToolCall | ToolResult) -> int:
    match part:
        case Text(text=text):
            return tokens_of(text)
        case ToolResult(content=content):
            return tokens_of(content)
        case ToolCall(name=name, arguments=arguments):
            return tokens_of(name) + tokens_of(_PLAIN.encode(arguments))
        case Image():
            return _PER_IMAGE
        case _:
            return 0


def _tool(tool: ToolSpec) -> int:
    return _PER_MESSAGE + tokens_of(tool.name + tool.description + json.dumps(tool.parameters))
