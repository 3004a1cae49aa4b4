"""Conversations as files: what is read back, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble_core import Message, RunError, ToolCall, ToolResult, Turn, assistant, tool_message, user
from bumble_core.cli.archive import history_problem, read_turns, to_lines, write_whole

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CALL = ToolCall(id="call_1", name="read_file", arguments={"path": "a.txt"})
RESULT = tool_message(ToolResult(call_id="call_1", name="read_file", content="text"))


def turn(id: str, session: str = "s", *messages: Message) -> Turn:
    said = messages or (user(f"question of {id}"), assistant(f"answer of {id}"))
    return Turn(id=id, session_id=session, started=NOON, finished=NOON, status="done", messages=said)


def changed(turn: Turn, **fields: object) -> bytes:
    return json.dumps({**json.loads(turn.model_dump_json()), **fields}).encode()


def test_what_was_written_is_read_back_by_session() -> None:
    turns = (turn("t1", "a", user("漢字\u2028\u0085"), assistant("", CALL), RESULT), turn("t2", "b"), turn("t3", "a"))
    read = read_turns(to_lines(turns).encode(), "file")
    assert read == {"a": (turns[0], turns[2]), "b": (turns[1],)}


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        (b"{", "this is no turn: Invalid JSON"),
        (b"[]", "this is no turn: "),
        (b"\xff", "this is no turn: "),
        (changed(turn("t2"), mood="gay"), "`mood`: Extra inputs are not permitted"),
        (changed(turn("t2"), status="fine"), "`status`: Input should be"),
        (changed(turn("t1")), "the id `t1` is there twice"),
        (to_lines([turn("t2", "s", assistant("hello"))]).encode(), "a turn begins with the user's message"),
        (to_lines([turn("t2", "s", user("hi"), assistant("", CALL))]).encode(), "the call `call_1` has no result"),
    ],
    ids=["cut", "a-list", "no-text", "unknown-field", "unknown-status", "twice", "no-question", "open-call"],
)
def test_a_bad_line_is_named_and_nothing_is_read(second: bytes, problem: str) -> None:
    data = to_lines([turn("t1")]).encode() + b"\n" + second
    with pytest.raises(RunError, match=r"^backup.jsonl, line 3: .*; nothing was imported$") as caught:
        read_turns(data, "backup.jsonl")
    assert problem in str(caught.value)


def test_a_file_without_turns_is_refused() -> None:
    with pytest.raises(RunError, match="there is no turn in it"):
        read_turns(b"\n \n", "backup.jsonl")


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ((user("q"), assistant("", CALL), RESULT, assistant("a")), ""),
        ((user("q"), assistant("", CALL), RESULT, user("steer"), assistant("a")), ""),
        ((user("q"), RESULT), "does not answer a call right before it"),
        ((user("q"), assistant("", CALL), RESULT, RESULT), "does not answer a call right before it"),
        ((user("q"), assistant("", CALL), user("more"), RESULT), "the call `call_1` has no result"),
        ((), "a turn begins with the user's message"),
    ],
    ids=["answered", "steered", "no-call", "answered-twice", "answered-late", "empty"],
)
def test_a_history_that_a_server_would_refuse_is_found(messages: tuple[Message, ...], problem: str) -> None:
    found = history_problem(messages)
    assert problem in found
    assert bool(found) is bool(problem)


def test_an_export_that_cannot_be_written_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half \ud83d")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("out.jsonl", "old")]


def test_a_folder_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"none/out.jsonl: cannot be written: No such file or directory"):
        write_whole(tmp_path / "none" / "out.jsonl", "text")


def test_half_an_emoji_survives_the_file() -> None:
    kept = turn("t1", "s", user("half \ud83d"), assistant("too \udc1d"))
    assert read_turns(to_lines([kept]).encode(), "file") == {"s": (kept,)}


def test_a_file_that_an_editor_marked_as_unicode_is_read() -> None:
    assert list(read_turns(b"\xef\xbb\xbf" + to_lines([turn("t1")]).encode(), "file")) == ["s"]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_moment_outside_of_the_calendar_is_no_turn(moment: str) -> None:
    with pytest.raises(RunError, match="line 1: this is no turn: date value out of range; nothing was imported"):
        read_turns(changed(turn("t1"), started=moment), "file")


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ((user("q"), Message(role="system", parts=(), source="kernel"), assistant("a")), "has the role `system`"),
        ((user("q"), assistant("", CALL, CALL), RESULT, RESULT), "the id was used before"),
        ((user("q"), assistant("")), "without words or calls"),
        ((Message(role="user", parts=RESULT.parts, source="user"), assistant("a")), "held calls or results"),
    ],
    ids=["system", "call-twice", "empty", "result-of-the-user"],
)
def test_messages_that_no_server_would_take_are_a_problem(messages: tuple[Message, ...], problem: str) -> None:
    assert problem in history_problem(messages)
