"""`kill -9` in the middle of a turn: the session goes on, and what was said before is there."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bumble_core import ToolCall, assistant
from bumble_core.testing.stub_replies import openai_stream, sse_reply
from bumble_core.testing.stub_server import StubServer
from bumble_core.types.turn import Turn
from tests.cli.talker import ONLY_THE_CONVERSATION, configure
from tests.installed import CHECKOUT, Installed
from tests.strangers import GROUP

Build = Callable[..., Any]
SEED = int(os.environ.get("BUMBLE_CRASH_SEED", "20260301"))
ROUNDS = 20

HANGS = """
import asyncio, pathlib
from bumble_core import hookimpl, tool

async def hang(marker: str) -> str:
    '''Say that you are there, then never answer.'''
    pathlib.Path(marker).touch()
    await asyncio.sleep(600)
    return "late"

class Plugin:
    def __init__(self, config): ...
    @hookimpl
    def bumble_tools(self):
        return [tool(hang)]
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[str]]]:
    """A home whose process was killed at random moments, and what these processes had been told is done."""
    home = tmp_path_factory.mktemp("killed") / "home"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (CHECKOUT, CHECKOUT / "plugins")))}
    command = [sys.executable, "-m", "tests.crash_child", str(home), str(SEED), str(ROUNDS)]
    done = subprocess.run(
        command, cwd=CHECKOUT, env=environment, capture_output=True, timeout=110, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return home, [json.loads(line) for line in home.with_name("facts").read_text().splitlines()]


async def turns_of(runtime: Build, home: Path) -> tuple[Turn, ...]:
    built, _ = runtime(home=home)
    async with built:
        turns: tuple[Turn, ...] = await built.sessions.turns()
        return turns


async def test_every_turn_after_a_kill_is_done(runtime: Build, killed: Any) -> None:
    turns = await turns_of(runtime, killed[0])
    whole = [turn for turn in turns if turn.messages[0].text.startswith("whole")]
    assert [(turn.messages[0].text, turn.status) for turn in whole] == [(f"whole {n}", "done") for n in range(ROUNDS)]


async def test_turn_that_was_killed_is_shown_as_interrupted(runtime: Build, killed: Any) -> None:
    turns = await turns_of(runtime, killed[0])
    statuses = [turn.status for turn in turns if turn.messages[0].text.startswith("killed")]
    assert set(statuses) <= {"interrupted", "done"}
    assert statuses.count("interrupted") >= 5


async def test_nothing_that_was_told_to_be_done_is_lost(runtime: Build, killed: Any) -> None:
    turns = {turn.id: turn for turn in await turns_of(runtime, killed[0])}
    for turn_id, fact in killed[1]:
        turn = turns[turn_id]
        results = [result.call_id for message in turn.messages for result in message.tool_results]
        assert fact in {turn.status, *results, *(message.id for message in turn.messages)}


async def test_every_call_of_a_killed_turn_has_one_result(runtime: Build, killed: Any) -> None:
    for turn in await turns_of(runtime, killed[0]):
        calls = sorted(call.id for message in turn.messages for call in message.tool_calls)
        assert calls == sorted(result.call_id for message in turn.messages for result in message.tool_results)


def test_no_file_of_the_home_is_left_half_written(killed: Any) -> None:
    files = [path for path in killed[0].rglob("*") if path.is_file()]
    assert [path for path in files if path.suffix == ".bumble-part"] == []
    assert all(json.loads(path.read_text()) for path in files if path.suffix == ".json")


async def kill_in_a_tool(installed: Installed, stub: StubServer) -> None:
    """Run `bumble` until its tool is at work, then kill it."""
    python, *rest = installed.command("run", "--session", "s", "--model", "openai:m", "first question")
    environment = {**installed.environment, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{stub.url}/v1"}
    process = await asyncio.create_subprocess_exec(
        python, *rest, cwd=installed.work, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    async with asyncio.timeout(30):
        while not installed.root.joinpath("marker").exists():
            await asyncio.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    await process.wait()


@pytest.fixture
def hanging(installed: Installed) -> Installed:
    installed.add("hanger", "0.1", {GROUP: {"hanger": "hanger:Plugin"}}, hanger=HANGS)
    configure(installed, ONLY_THE_CONVERSATION)
    return installed


async def test_bumble_run_goes_on_after_a_kill_in_a_tool(hanging: Installed) -> None:
    call = ToolCall(id="c1", name="hang", arguments={"marker": str(hanging.root / "marker")})
    replies = [openai_stream(assistant("", call)), openai_stream(assistant("I am back."))]
    async with StubServer([sse_reply(reply) for reply in replies]) as stub:
        await kill_in_a_tool(hanging, stub)
        variables = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{stub.url}/v1"}
        given = ("run", "--session", "s", "--model", "openai:m", "second question")
        ended = await asyncio.to_thread(hanging.bumble, *given, **variables)
    sent = [message for message in stub.requests[1].json["messages"] if message["role"] != "system"]
    assert (ended.status, ended.out) == (0, "I am back.\n")
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "user"]
    assert sent[1]["tool_calls"][0]["id"] == sent[2]["tool_call_id"] == "c1"
    assert "interrupted" in sent[2]["content"]


async def test_sessions_show_the_turn_that_was_killed(hanging: Installed) -> None:
    call = ToolCall(name="hang", arguments={"marker": str(hanging.root / "marker")})
    async with StubServer([sse_reply(openai_stream(assistant("", call)))]) as stub:
        await kill_in_a_tool(hanging, stub)
    shown = hanging.bumble("sessions", "show", "s")
    assert shown.status == 0
    assert "interrupted" in shown.out
    assert "first question" in shown.out
