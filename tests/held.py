"""A model and a tool that wait until a test lets them answer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from typing import Any

from bumble_core import InferenceError, ToolError, assistant, hookimpl, tool
from bumble_core.errors import ContextOverflow
from bumble_core.types.events import Event, ToolFinished, ToolStarted
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request
from bumble_core.types.messages import ToolCall
from bumble_core.types.turn import TurnContext
from tests.turn_laws import Laws

REF = ModelRef(provider="scripted", model="model")
SUMMARY = "Goal: to talk. Progress: much was said before, and nothing of it is lost."
WORDS = ("text", "long", "empty")
MISHAPS = ("cut", "cut_words", "lost", "malformed", "unknown", "misfit", "twin_ids", "error", "bug", "overflow")
CALLS = {
    "fine": ("fine", {}),
    "fails": ("fails", {}),
    "floods": ("floods", {}),
    "held": ("held", {}),
    "says": ("say", {"message": "Half of it is done."}),
    "ends": ("end_turn", {"reason": "done"}),
}
_CALLS_OF = {
    "cut": [ToolCall(id="cut", name="fine")],
    "malformed": [ToolCall(id="bad", name="fine", problem="the arguments are not JSON", raw='{"a":')],
    "unknown": [ToolCall(id="", name="fin")],
    "misfit": [ToolCall(id="misfit", name="fine", arguments={"a": 1})],
    "twin_ids": [ToolCall(id="twin", name="fine"), ToolCall(id="twin", name="fails")],
}


@dataclass(frozen=True)
class Reply:
    """What the model does at one step."""

    kind: str
    tools: tuple[str, ...] = ()

    def completion(self) -> Completion:
        match self.kind:
            case "error":
                raise InferenceError("no route to host")
            case "bug":
                raise KeyError("choices")
            case "overflow":
                raise ContextOverflow("too long", 1500)
        named = (CALLS[name] for name in self.tools)
        calls = _CALLS_OF.get(self.kind) or [ToolCall(name=name, arguments=dict(given)) for name, given in named]
        text = {"long": "word " * 150, "empty": "", "tools": "Let me see."}.get(self.kind, "That is all.")
        ends = {"cut": "length", "cut_words": "length", "lost": "cut"}
        finish: Any = ends.get(self.kind) or ("tool_calls" if calls else "stop")
        return Completion(message=assistant(text, *calls), finish=finish, model=REF)


@tool
async def held(turn: TurnContext) -> str:
    """Answer when it is time."""
    raise NotImplementedError


class Held:
    """A plugin: a model, and a tool `held`, that wait until they are let go. Tells `laws` all that happens.

    `asked` and `working` are what waits, by session; `open_calls` counts calls without a result, by turn.
    """

    name = "scripted"

    def __init__(self, laws: Laws) -> None:
        self.laws = laws
        self.asked: defaultdict[str, list[asyncio.Future[Reply]]] = defaultdict(list)
        self.working: defaultdict[str, list[asyncio.Future[str]]] = defaultdict(list)
        self.open_calls: defaultdict[str, int] = defaultdict(int)
        self.changed = asyncio.Event()

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self.laws.check(request)
        if request.purpose != "turn":
            yield Completion(message=assistant(SUMMARY), finish="stop", model=REF)
            return
        reply = await self._let_go(self.asked[self.laws.sessions[request.owner]])
        yield Delta(text="draft")
        await asyncio.sleep(0)
        yield reply.completion()

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=REF, is_default=True),)

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]

    @hookimpl
    def bumble_observers(self) -> list[Any]:
        return [self]

    @hookimpl
    def bumble_tools(self) -> list[Any]:
        return [replace(held, function=self._held)]

    def notify(self, event: Event) -> None:
        self.laws.notify(event)
        match event:
            case ToolStarted(turn_id=turn_id):
                self.open_calls[turn_id] += 1
            case ToolFinished(turn_id=turn_id):
                self.open_calls[turn_id] -= 1
            case _:
                pass
        self.changed.set()

    def is_waiting(self, session: str, turn_id: str) -> bool:
        """Tell whether the turn goes on only when something of it is let go."""
        at_work = len(self.working[session])
        return bool(self.asked[session]) or 0 < at_work == self.open_calls[turn_id]

    async def _held(self, turn: TurnContext) -> str:
        said = await self._let_go(self.working[turn.input.session_id])
        if said == "fails":
            raise ToolError("out of paper")
        return said

    async def _let_go(self, waiting: list[asyncio.Future[Any]]) -> Any:
        future = asyncio.get_running_loop().create_future()
        waiting.append(future)
        self.changed.set()
        try:
            return await future
        finally:
            if future in waiting:
                waiting.remove(future)
