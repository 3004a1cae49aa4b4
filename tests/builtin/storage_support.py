"""A clock that tests wind, a disk that fills up, and turns to store."""

from __future__ import annotations

import errno
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Literal

from typing_extensions import override

from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.builtin.system import SystemFiles
from bumble_core.types.inference import ModelRef
from bumble_core.types.messages import Message, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.types.turn import Turn, TurnInput

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = ModelRef(provider="scripted", model="m")


class WoundClock:
    """Stands still until it sleeps or is wound."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return (self.at - NOON).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


class FullDisk(SystemFiles):
    """Fails at one kind of operation, once `after` of its bytes (or calls) have gone through."""

    def __init__(self, operation: str, after: int = 0) -> None:
        self._operation = operation
        self._left = after

    @override
    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        if mode != "rb":
            self._fail_at("open")
        return super().open(path, mode)

    @override
    def write(self, handle: BinaryIO, data: bytes) -> None:
        if self._operation == "write":
            super().write(handle, data[: self._left])
        self._fail_at("write", len(data))
        super().write(handle, data)

    @override
    def fsync(self, handle: BinaryIO) -> None:
        self._fail_at("fsync")
        super().fsync(handle)

    @override
    def replace(self, source: Path, target: Path) -> None:
        self._fail_at("replace")
        super().replace(source, target)

    @override
    def swap(self, source: Path, target: Path) -> bool:
        self._fail_at("replace")
        return super().swap(source, target)

    @override
    def put(self, source: Path, target: Path) -> None:
        self._fail_at("replace")
        super().put(source, target)

    def _fail_at(self, operation: str, size: int = 1) -> None:
        if operation == self._operation:
            self._left -= size
            if self._left < 0:
                raise OSError(errno.ENOSPC, "No space left on device")


class CountingFiles(SystemFiles):
    """Counts the files that are read."""

    def __init__(self) -> None:
        self.reads = 0

    @override
    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        self.reads += mode == "rb"
        return super().open(path, mode)


def input_of(text: str, turn_id: str = "turn_1", session_id: str = "s") -> TurnInput:
    message = user(text).model_copy(update={"id": f"{turn_id}_in"})
    return TurnInput(id=turn_id, session_id=session_id, message=message, models=(MODEL,), started=NOON)


def turn_of(input: TurnInput, *messages: Message) -> Turn:
    return Turn(
        id=input.id,
        session_id=input.session_id,
        started=NOON,
        finished=NOON + timedelta(seconds=1),
        status="done",
        messages=(input.message, *messages),
        delivered=tuple(message.text for message in messages[-1:]),
    )


async def say(
    sessions: SqliteSessions, text: str, *messages: Message, turn_id: str = "turn_1", session_id: str = "s"
) -> Turn:
    """Store a whole turn, an answer or the given messages after the input."""
    input = input_of(text, turn_id, session_id)
    log = messages or (assistant(f"re: {text}"),)
    await sessions.begin(input)
    for message in log:
        await sessions.append(turn_id, message)
    return await sessions.finish(turn_of(input, *log), None)


def call(id: str, name: str = "quick") -> ToolCall:
    return ToolCall(id=id, name=name)


def answer(id: str, content: str = "q", name: str = "quick") -> Message:
    return tool_message(ToolResult(call_id=id, name=name, content=content))
