"""A reply that must fit a schema, as each kind of server is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from bumble_ollama import OllamaConfig, OllamaPlugin
from bumble_openai import OpenAIConfig, OpenAIPlugin

from bumble_core import assistant
from bumble_core.builtin.endpoints import EndpointMemory
from bumble_core.builtin.levels import Levels
from bumble_core.builtin.system import SystemFiles
from bumble_core.chat import encode_request
from bumble_core.forcing import calls_schema
from bumble_core.ports import Addressed, Provider
from bumble_core.testing.stub_replies import json_reply, ndjson_reply, ollama_stream, openai_stream, sse_reply
from bumble_core.testing.stub_server import StubReply, StubServer
from bumble_core.types.inference import Completion, ModelRef, ToolSpec
from tests.http.asking import NO_HOME, READ_NOTE, closed_after, request
from tests.http.clocks import StillClock

CALLS = '{"calls": [{"name": "read_note", "arguments": {}}]}'


def openai_at(url: str) -> Provider:
    plugin = OpenAIPlugin(OpenAIConfig(base_url=f"{url}/v1", retry_attempts=1))
    return plugin.bumble_providers(home=NO_HOME, files=SystemFiles(), clock=StillClock())[0]


def ollama_at(url: str) -> Provider:
    plugin = OllamaPlugin(OllamaConfig(base_url=url, retry_attempts=1))
    return plugin.bumble_providers(home=NO_HOME, files=SystemFiles(), clock=StillClock())[0]


def openai_says(text: str) -> StubReply:
    return sse_reply(openai_stream(assistant(text)))


def ollama_says(text: str) -> StubReply:
    return ndjson_reply(ollama_stream(assistant(text)))


def refuses(message: str) -> StubReply:
    return json_reply({"error": {"message": message, "type": "invalid_request_error"}}, status=400)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OLLAMA_HOST", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


CLOSED = {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "is_strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "object"}}}}, False),
        ({**CLOSED, "properties": {"a": {}, "b": {}}}, False),
        ({**CLOSED, "additionalProperties": True}, False),
    ],
    ids=["closed", "open-inside", "optional", "open"],
)
def test_a_schema_is_called_strict_when_it_is(schema: Any, is_strict: bool) -> None:
    body: Any = encode_request(request(reply_schema=schema), "m")
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": is_strict, "schema": schema},
    }


def test_without_a_schema_no_format_is_sent() -> None:
    assert "response_format" not in encode_request(request(), "m")


def test_calls_of_closed_tools_are_strict() -> None:
    body: Any = encode_request(
        request(reply_schema=calls_schema((ToolSpec(name="a", description="", parameters=CLOSED),))), "m"
    )
    assert body["response_format"]["json_schema"]["strict"] is True


async def asked(provider: Provider, home: Path) -> tuple[Completion, str]:
    """Force a call through a real provider; return the reply and the level that was learnt."""
    clock = StillClock()
    memory = EndpointMemory(home, SystemFiles(), clock)
    ref, done = ModelRef(provider=provider.name, model="m"), None
    forced = request(tools=(READ_NOTE,), tool_choice="required")
    async with aclosing(await Levels(memory, clock).asking(forced, ref, provider)) as items:
        async for item in items:
            done = item if isinstance(item, Completion) else done
    assert done is not None
    assert isinstance(provider, Addressed)
    level = (await memory.of(f"{provider.address} m")).level
    return done, level.level if level else ""


@pytest.mark.parametrize(
    ("at", "says", "key"),
    [(openai_at, openai_says, "response_format"), (ollama_at, ollama_says, "format")],
    ids=["openai", "ollama"],
)
async def test_a_server_that_ignores_tools_is_asked_with_a_schema(
    tmp_path: Path, at: Callable[[str], Provider], says: Callable[[str], StubReply], key: str
) -> None:
    async with StubServer([says("Hello!"), says(CALLS)]) as stub, closed_after(at(stub.url)) as provider:
        done, level = await asked(provider, tmp_path)
    first, second = (sent.json for sent in stub.requests)
    assert ("tools" in first, key in first, "tools" in second, key in second) == (True, False, False, True)
    assert ([call.name for call in done.message.tool_calls], level) == (["read_note"], "schema")


@pytest.mark.parametrize(
    ("at", "says", "refusals"),
    [
        (
            openai_at,
            openai_says,
            ["tools param requires --jinja flag", "'response_format.type' must be 'text' or 'json_object'"],
        ),
        (
            openai_at,
            openai_says,
            ['"auto" tool choice requires --enable-auto-tool-choice', "Failed to parse grammar of json_schema"],
        ),
        (ollama_at, ollama_says, ["library/m does not support tools", "invalid JSON schema in format"]),
    ],
    ids=["llama.cpp", "vllm", "ollama"],
)  # fmt: skip
async def test_a_server_that_refuses_both_is_asked_in_words(
    tmp_path: Path, at: Callable[[str], Provider], says: Callable[[str], StubReply], refusals: list[str]
) -> None:
    script = [*map(refuses, refusals), says(CALLS)]
    async with StubServer(script) as stub, closed_after(at(stub.url)) as provider:
        done, level = await asked(provider, tmp_path)
    assert len(stub.requests) == 3
    assert "read_note" in stub.requests[-1].json["messages"][0]["content"]
    assert ([call.name for call in done.message.tool_calls], level) == (["read_note"], "prompted")


def test_the_address_holds_no_secret() -> None:
    provider = openai_at("http://user:hunter2@127.0.0.1:9")
    assert isinstance(provider, Addressed)
    assert provider.address == "http://127.0.0.1:9/v1"
