"""Case H24, from its data: a turn cancelled among its tools, or a damaged file, and the next turn in a new process."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Turn, assistant, user
from bumble_core.types.events import Inferred, ToolFinished
from bumble_core.types.messages import Message, ToolCall, ToolResult
from tests.case_script import CaseScript
from tests.http.streams import case
from tests.next_process import turn_in_next_process
from tests.pieces import Tools, quick, slow

Build = Callable[..., Any]
H24 = case("H24")
THEN = H24["then"]
DAMAGED = THEN["also_a_damaged_file"]["history"]
CANCEL_AFTER_S = 0.3
SESSION = "s"


async def cancelled(runtime: Build) -> tuple[Turn, float]:
    """Return the first turn of the case, cancelled when its quick call is done, and how long the cancel took."""
    plugins = {"scripted": CaseScript(H24["given"]["script"]), "own": Tools(quick, slow)}
    built, _ = runtime(plugins=plugins)
    async with built:
        until, handle = 0.0, built.start("go", session=SESSION)
        async for event in handle.events():
            if isinstance(event, Inferred):
                until = time.monotonic() + CANCEL_AFTER_S
            if isinstance(event, ToolFinished):
                break
        await asyncio.sleep(until - time.monotonic())
        begin = time.monotonic()
        handle.cancel()
        return await handle.result(), time.monotonic() - begin


def results_in(messages: list[Message] | tuple[Message, ...]) -> dict[str, ToolResult]:
    return {result.call_id: result for message in messages for result in message.tool_results}


def assert_answered(results: dict[str, ToolResult]) -> None:
    """Hold the results to the rows of the case."""
    assert list(results) == [row["id"] for row in THEN["saved_tool_results"]]
    for row in THEN["saved_tool_results"]:
        result = results[row["id"]]
        assert result.content == row.get("equals", result.content)
        assert (result.status != "ok") is row.get("is_error", False)
        assert any(word in result.content for word in row.get("contains_any", [""]))


def test_the_case_cancels_when_the_test_does() -> None:
    assert H24["given"]["cancel"] == f"{CANCEL_AFTER_S} s after the first reply arrived"


async def test_h24_a_cancel_among_tools_returns_at_once_and_leaves_no_task(runtime: Build) -> None:
    before = len(asyncio.all_tasks())
    turn, took_s = await cancelled(runtime)
    assert turn.status == "cancelled"
    assert took_s < THEN["cancel_returns_within_s"]
    assert len(asyncio.all_tasks()) - before == THEN["tasks_left"]
    assert_answered(results_in(turn.messages))


async def test_h24_the_next_turn_works_in_a_new_process(runtime: Build, tmp_path: Path) -> None:
    await cancelled(runtime)
    told = turn_in_next_process(tmp_path / "home", SESSION, THEN["second_request"]["last_user"], "H24")
    (request,) = told["requests"]
    assert_answered(results_in(request))
    assert request[-1].text.startswith(f"{THEN['second_request']['last_user']}\n")
    assert (told["status"], told["delivered"]) == ("done", [THEN["visible_last"]])
    assert told["warnings"] == []


def message_of(row: dict[str, Any]) -> Message:
    """Make a message of what a file holds in the shape of a chat."""
    if row["role"] == "user":
        return user(row["content"])
    if row["role"] == "assistant":
        calls = [ToolCall(id=call["id"], name=call["function"]["name"]) for call in row["tool_calls"]]
        return assistant(row["content"] or "", *calls)
    return answer_to(row["tool_call_id"], row["content"])


def answer_to(call_id: str, content: str) -> Message:
    return Message(role="tool", source="tool", parts=(ToolResult(call_id=call_id, name="quick", content=content),))


def whole() -> list[Message]:
    """Return the history before it was damaged: every call with its result, every result with its call."""
    u1, call, u2, orphan = map(message_of, DAMAGED)
    return [u1, call, answer_to("x1", "q"), u2, assistant("", ToolCall(id="zz", name="quick")), orphan]


async def keep(runtime: Build, messages: list[Message]) -> None:
    at = datetime.now(UTC)
    turn = Turn(id="t1", session_id=SESSION, started=at, finished=at, status="done", messages=tuple(messages))
    built, _ = runtime()
    async with built:
        await built.sessions.restore(SESSION, (turn,))


def lose(home: Path, ids: list[str]) -> None:
    """Take the rows of messages out of the file."""
    with closing(sqlite3.connect(home / "sessions.sqlite3")) as connection, connection:
        gone = connection.executemany("DELETE FROM messages WHERE id = ?", [(each,) for each in ids])
        assert gone.rowcount == len(ids)


@pytest.mark.parametrize("loses_rows", [False, True], ids=["written-like-that", "rows-lost"])
async def test_h24_a_damaged_file_is_mended_for_the_model_and_warned_of(
    runtime: Build, tmp_path: Path, loses_rows: bool
) -> None:
    messages = whole()
    await keep(runtime, messages if loses_rows else [message_of(row) for row in DAMAGED])
    if loses_rows:
        lose(tmp_path / "home", [messages[2].id, messages[4].id])
    told = turn_in_next_process(tmp_path / "home", SESSION, "go on", "H24")
    (request,) = told["requests"]
    assert {name: each.status for name, each in results_in(request).items()} == {"x1": "interrupted"}
    assert "interrupted" in results_in(request)["x1"].content
    first, last = [message.text for message in request if message.source == "user"]
    assert (first, last.startswith("u2\n\ngo on\n")) == ("u1", True)
    assert (told["status"], told["delivered"]) == ("done", [THEN["visible_last"]])
    (warning,) = [each for each in told["warnings"] if each["event"] == "session.repaired"]
    assert [name in " ".join(warning["problems"]) for name in ("`x1`", "`zz`")] == [True, True]
