"""Turns with a label: what a completion gate is measured by."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from ..errors import RunError
from ..types.base import Value
from ..types.inference import Completion, Finish, ModelRef, Profile
from ..types.messages import Message, Role, Text, ToolCall, ToolResult, assistant, tool_message, user
from ..types.turn import GatePolicy, Limits, Route, TurnContext, TurnInput

SPLITS: Final = ("dev", "test")
_PACKAGED = Path(__file__).parent / "sets" / "gate"
_IN_CHECKOUT = Path(__file__).parents[2] / "benchmarks" / "gate"
_AT = datetime(2026, 1, 1, tzinfo=UTC)


class Earlier(Value):
    """Words of the session before the turn."""

    role: Literal["user", "assistant"]
    text: str


class Ran(Value):
    """A work tool that ran, and how its output begins."""

    name: str
    failed: bool
    preview: str


class LabelledTurn(Value):
    """A turn at its end, and whether it may end there.

    `said` was delivered through `say`, `closing` is the last text. `finish` tells how the model's last message ended;
    `end_turn`: it asked to end. `grounded`: the user demanded that something be looked up.
    """

    id: str
    language: str
    kind: str
    user: str
    history: tuple[Earlier, ...] = ()
    said: tuple[str, ...]
    closing: str
    finish: Literal["stop", "length", "end_turn"]
    tools: tuple[Ran, ...]
    grounded: bool
    done: bool

    @property
    def has_worked(self) -> bool:
        return any(not each.failed for each in self.tools)


def shipped_set() -> Path:
    """Return the folder of the set that comes with bumble-core, installed or in a checkout."""
    return _PACKAGED if _PACKAGED.is_dir() else _IN_CHECKOUT


def read_set(folder: Path, split: str) -> tuple[LabelledTurn, ...]:
    """Read every `*.jsonl` of a set's folder; `split` is one of its parts or `all`.

    Raises:
        RunError: there is no such folder, it holds no turn, or a line is no labelled turn.
    """
    parts = [folder / part for part in SPLITS if split in (part, "all")]
    found = [path for part in parts for path in sorted(part.glob("*.jsonl"))] or sorted(folder.glob("*.jsonl"))
    turns = tuple(_read(path, at, line) for path in found for at, line in enumerate(_lines(path), 1) if line.strip())
    if not turns:
        raise RunError(f"{folder}: no labelled turns; a set is a folder with `dev/*.jsonl` and `test/*.jsonl`")
    return turns


def context_of(turn: LabelledTurn, models: tuple[ModelRef, ...], limits: Limits, policy: GatePolicy) -> TurnContext:
    """Return the turn as a judge is given it: its tools have run, its texts are delivered, its last words are there."""
    model = models[0]
    input = TurnInput(
        id=turn.id,
        session_id="labelled",
        message=user(turn.user),
        history=tuple(_earlier(each.role, each.text) for each in turn.history),
        gate=policy,
        models=models,
        started=_AT,
    )
    profile = Profile(name="reflex", max_tokens=512)
    route = Route(
        profile=profile, models=models, decided_by="forced", reason="the turn is labelled", grounded=turn.grounded
    )
    context = TurnContext.begin(input, route, limits)
    for at, tool in enumerate(turn.tools):
        context = _called(context, model, _result(f"work_{at}", tool))
    for at, text in enumerate(turn.said):
        said = ToolResult(call_id=f"say_{at}", name="say", content="delivered to the user", is_work=False, said=text)
        context = _called(context.told(text), model, said)
    if turn.finish != "end_turn":
        finish: Finish = "length" if turn.finish == "length" else "stop"
        return context.answered(Completion(message=assistant(turn.closing), finish=finish, model=model))
    ending = ToolResult(call_id="end", name="end_turn", content="asked to end", is_work=False, ends_turn=True)
    return replace(_called(context, model, ending), reply=turn.closing)


def _called(context: TurnContext, model: ModelRef, result: ToolResult) -> TurnContext:
    call = assistant("", ToolCall(id=result.call_id, name=result.name))
    asked = context.answered(Completion(message=call, finish="tool_calls", model=model))
    return asked.observed(tool_message(result))


def _result(id: str, tool: Ran) -> ToolResult:
    return ToolResult(call_id=id, name=tool.name, content=tool.preview, status="error" if tool.failed else "ok")


def _earlier(role: Role, text: str) -> Message:
    return Message(role=role, parts=(Text(text=text),), source="user" if role == "user" else "model")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: cannot be read: {error}") from error


def _read(path: Path, at: int, line: str) -> LabelledTurn:
    try:
        return LabelledTurn.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RunError(f"{path}:{at}: {f'{place}: ' if place else ''}{first['msg']}") from error
