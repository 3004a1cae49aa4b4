"""Conversations as files: one turn per line of JSON, checked whole before anything is used."""

from __future__ import annotations

import codecs
import contextlib
import json
from collections.abc import Iterable
from datetime import UTC
from pathlib import Path

from pydantic import ValidationError

from ..atomic import write_atomically
from ..builtin.stored import to_json
from ..builtin.system import SystemFiles
from ..errors import RunError
from ..history import repair
from ..types.messages import Message
from ..types.turn import Turn


def to_lines(turns: Iterable[Turn]) -> str:
    """Return the turns as JSON, one per line."""
    return "".join(f"{to_json(turn)}\n" for turn in turns)


def read_turns(data: bytes, name: str) -> dict[str, tuple[Turn, ...]]:
    """Return the turns of each session of a file's bytes, in the file's order; empty lines do not count.

    Raises:
        RunError: a line is no turn, a turn's history is not valid, or an id is there twice; `name` and the line's
            number stand in the message.
    """
    sessions: dict[str, list[Turn]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"{name}, line {number}"
        turn = _turn(line, place)
        problem = history_problem(turn.messages) or _repeated(turn, seen)
        if problem:
            raise RunError(f"{place}: {problem}; nothing was imported")
        sessions.setdefault(turn.session_id, []).append(turn)
    if not sessions:
        raise RunError(f"{name}: there is no turn in it; nothing was imported")
    return {session: tuple(turns) for session, turns in sessions.items()}


def history_problem(messages: tuple[Message, ...]) -> str:
    """Say what makes the messages of a turn unfit to be sent to a model again, or return an empty text."""
    if not messages or messages[0].role != "user":
        return "a turn begins with the user's message"
    if instructing := [message.id for message in messages if message.role == "system"]:
        return f"the message `{instructing[0]}` has the role `system`, which no turn holds"
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            results = [result.call_id for result in message.tool_results]
            if len(results) != 1 or results[0] not in waiting:
                return f"the tool message `{message.id}` does not answer a call right before it"
            waiting.remove(results[0])
        elif waiting:
            break
        else:
            waiting = [call.id for call in message.tool_calls]
    if waiting:
        return f"the call `{waiting[0]}` has no result"
    _, problems = repair(messages)
    return problems[0] if problems else ""


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all; a device or a pipe is written to as it is.

    Raises:
        RunError: it cannot be written.
    """
    path = path.expanduser().resolve()
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            write_atomically(SystemFiles(), path, text.encode())
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error


def _turn(line: bytes, place: str) -> Turn:
    try:
        turn = _parsed(line)
        for moment in (turn.started, turn.finished):
            moment.astimezone(UTC)
    except OverflowError as error:
        raise RunError(f"{place}: this is no turn: {error}; nothing was imported") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        said = f"`{where}`: {first['msg']}" if where else first["msg"]
        raise RunError(f"{place}: this is no turn: {said}; nothing was imported") from error
    return turn


def _parsed(line: bytes) -> Turn:
    """Read a turn, even one in which somebody wrote half an emoji: strict JSON does not know those."""
    try:
        return Turn.model_validate_json(line)
    except ValidationError:
        with contextlib.suppress(ValueError, RecursionError):
            return Turn.model_validate(json.loads(line))
        raise


def _repeated(turn: Turn, seen: set[tuple[str, str]]) -> str:
    for id in (turn.id, *(message.id for message in turn.messages)):
        if (turn.session_id, id) in seen:
            return f"the id `{id}` is there twice"
        seen.add((turn.session_id, id))
    return ""
