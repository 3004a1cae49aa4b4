"""A turn on a long history does the work of what is new, not of what is old."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bumble_openai import OpenAIConfig
from bumble_openai.endpoint import Endpoint

from bumble_core import Runtime, Settings, assemble, hookimpl
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.chat import encode_messages
from bumble_core.ports import Provider
from bumble_core.testing import ScriptedProvider
from bumble_core.testing.stub_replies import openai_stream, sse_reply
from bumble_core.testing.stub_server import StubServer
from bumble_core.types.messages import assistant
from tests.shipped import construct_shipped

Build = Callable[..., tuple[Runtime, ScriptedProvider]]


@dataclass
class Asking:
    """A runtime that asks a stub through one endpoint, which can be looked at."""

    runtime: Runtime
    stub: StubServer
    endpoint: Endpoint
    encoded: list[int] = field(default_factory=list)

    async def say(self, text: str) -> None:
        before = self.endpoint.encoder.pieces.made
        await self.runtime.answer(text)
        self.encoded.append(self.endpoint.encoder.pieces.made - before)


class OneEndpoint:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @hookimpl
    def bumble_providers(self) -> list[Provider]:
        return [self._endpoint]


@asynccontextmanager
async def asking(home: Path) -> AsyncIterator[Asking]:
    async with StubServer([sse_reply(openai_stream(assistant("Hello there.")))]) as stub:
        endpoint = Endpoint("stub", OpenAIConfig(base_url=f"{stub.url}/v1"), SystemClock(), home, SystemFiles())
        plugins = {**construct_shipped("router", "judge", "compactor", "talk"), "stub": OneEndpoint(endpoint)}
        settings = Settings.model_validate(
            {"agent": {"models": ["stub:m"]}, "home": home, "gate": {"policy": "heuristics"}}
        )
        async with assemble(settings, plugins=plugins, discovers=False, run_jobs=False) as runtime:
            yield Asking(runtime, stub, endpoint)


async def test_each_message_is_encoded_once(tmp_path: Path) -> None:
    async with asking(tmp_path) as asked:
        for number in range(6):
            await asked.say(f"question {number}")
    most = max(asked.encoded[1:])
    assert most <= 4  # the last answer, the new question, the system text and the tail


async def test_kept_bytes_are_what_a_fresh_encoding_gives(tmp_path: Path) -> None:
    async with asking(tmp_path) as asked:
        for number in range(3):
            await asked.say(f"question {number}")
        view = (await asked.runtime.sessions.resume("default")).view
    sent: list[dict[str, Any]] = [each for each in asked.stub.requests[-1].json["messages"] if each["role"] != "system"]
    assert [each["role"] for each in sent] == ["user", "assistant"] * 2 + ["user"]
    assert sent[:4] == encode_messages(view[:4])


async def test_all_turns_use_one_connection(tmp_path: Path) -> None:
    async with asking(tmp_path) as asked:
        for number in range(3):
            await asked.say(f"question {number}")
    assert (len(asked.stub.requests), asked.stub.connections) == (3, 1)


async def test_a_request_holds_the_very_messages_of_the_one_before(runtime: Build) -> None:
    built, script = runtime(*(assistant(f"answer {number}") for number in range(3)))
    async with built:
        for number in range(3):
            await built.answer(f"question {number}")
    before, after = script.requests[1].messages, script.requests[2].messages
    assert [one is other for one, other in zip(before[1:-1], after[1:], strict=False)] == [True, True]


@pytest.mark.parametrize("turns", [2, 12], ids=["few", "many"])
async def test_bytes_are_kept_only_of_messages_that_are_alive(tmp_path: Path, turns: int) -> None:
    async with asking(tmp_path) as asked:
        for number in range(turns):
            await asked.say(f"question {number}")
        await asked.runtime.sessions.delete("default")
        await asked.runtime.answer("anew")
        assert len(asked.endpoint.encoder.pieces) <= 6
