"""`bumble models probe`."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bumble_core import ToolCall, assistant
from bumble_core.testing.stub_replies import json_reply, openai_stream, sse_reply
from bumble_core.testing.stub_server import StubReply, StubServer
from bumble_core.types.messages import Message
from tests.installed import Ended, Installed

CALLS = '{"calls": [{"name": "report_number", "arguments": {"number": 7}}]}'
REFUSED = json_reply({"error": {"message": "tools are not supported", "type": "invalid_request_error"}}, status=400)


def says(message: Message) -> StubReply:
    return sse_reply(openai_stream(message))


async def probed(installed: Installed, *replies: StubReply, options: tuple[str, ...] = ()) -> tuple[Ended, StubServer]:
    disabled = installed.user / "bumble.yaml"
    disabled.write_text("plugins: {disabled: [local]}\n")
    async with StubServer(replies) as stub:
        arguments = ("models", "probe", "openai:m", "--config", str(disabled), "--home", str(home(installed)), *options)
        variables = {"OPENAI_BASE_URL": f"{stub.url}/v1"}
        return await asyncio.to_thread(installed.bumble, *arguments, **variables), stub


def home(installed: Installed) -> Path:
    return installed.root / "home"


def kept(installed: Installed) -> dict[str, Any]:
    models: dict[str, Any] = json.loads((home(installed) / "endpoints.json").read_text())["models"]
    (only,) = models.values()
    return dict(only["level"])


@pytest.mark.parametrize(
    ("replies", "level", "requests"),
    [
        ([says(assistant("", ToolCall(name="report_number", arguments={"number": 7})))], "native", 1),
        ([says(assistant("Seven!")), says(assistant(CALLS))], "schema", 2),
        ([REFUSED, says(assistant(CALLS))], "schema", 2),
        ([says(assistant("Seven!")), says(assistant("Seven again!"))], "text", 2),
    ],
    ids=["native", "ignores", "refuses", "talks"],
)
async def test_a_probe_prints_the_level_and_why_and_remembers_it(
    installed: Installed, replies: list[StubReply], level: str, requests: int
) -> None:
    ended, stub = await probed(installed, *replies)
    first, reason = ended.out.splitlines()
    assert (ended.status, first.startswith(f"openai:m: {level}: ")) == (0, True)
    assert (len(stub.requests), kept(installed)["level"], kept(installed)["reason"]) == (requests, level, reason)


async def test_a_probe_prints_json(installed: Installed) -> None:
    ended, stub = await probed(installed, says(assistant("Seven!")), says(assistant(CALLS)), options=("--json",))
    told = json.loads(ended.out)
    assert (told["model"], told["endpoint"], told["level"]) == ("openai:m", f"{stub.url}/v1 m", "schema")
    assert set(told) == {"model", "endpoint", "level", "reason", "at"}


async def test_a_probe_that_fails_says_why_and_remembers_nothing(installed: Installed) -> None:
    failure = json_reply({"error": {"message": "what?"}}, status=400)
    ended, _ = await probed(installed, failure)
    assert ended.status != 0
    assert "what?" in ended.err
    assert not (home(installed) / "endpoints.json").exists()


async def test_a_name_that_is_none_is_refused(installed: Installed) -> None:
    ended = await asyncio.to_thread(installed.bumble, "models", "probe", ":m")
    assert ended.status == 2
    assert "provider:model" in ended.err
