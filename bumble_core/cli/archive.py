"""Conversations as files: one turn per line of JSON, checked whole before anything is used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from ..atomic import write_atomically
from ..builtin.system import SystemFiles
from ..errors import RunError
from ..types.messages import Message
from ..types.turn import Turn


def to_lines(turns: Iterable[Turn]) -> str:
    """Return the turns as JSON, one per line."""
    return "".join(f"{turn.model_dump_json()}\n" for turn in turns)


def read_turns(data: bytes, name: str) -> dict[str, tuple[Turn, ...]]:
    """Return the turns of each session of a file's bytes, in the file's order; empty lines do not count.

    Raises:
        RunError: a line is no turn, a turn's history is not valid, or an id is there twice; `name` and the line's
            number stand in the message.
    """
    sessions: dict[str, list[Turn]] = {}
    seen: set[tuple[str, str]] = set()
    for number, line in enumerate(data.split(b"\n"), start=1):
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
    return f"the call `{waiting[0]}` has no result" if waiting else ""


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
        return Turn.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        said = f"`{where}`: {first['msg']}" if where else first["msg"]
        raise RunError(f"{place}: this is no turn: {said}; nothing was imported") from error


def _repeated(turn: Turn, seen: set[tuple[str, str]]) -> str:
    for id in (turn.id, *(message.id for message in turn.messages)):
        if (turn.session_id, id) in seen:
            return f"the id `{id}` is there twice"
        seen.add((turn.session_id, id))
    return ""
