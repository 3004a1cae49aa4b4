"""The `ollama` provider against a real server on this machine that speaks as Ollama's documentation says."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any

import pytest
from bumble_ollama import OllamaConfig, OllamaPlugin, address_of
from bumble_ollama.requests import encode_fields, encode_message

from bumble_core import ConfigError
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import (
    AuthenticationError,
    ContextOverflow,
    InferenceError,
    MalformedReply,
    ModelMissing,
    Overloaded,
    Unreachable,
)
from bumble_core.ports import Exclusive, Provider
from bumble_core.testing.stub_replies import json_reply, ndjson_reply, ollama_stream
from bumble_core.testing.stub_server import StubReply, StubServer
from bumble_core.types.inference import Delta, Profile
from bumble_core.types.messages import (
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    tool_message,
    user,
)
from tests.http.asking import (
    NO_HOME,
    READ_NOTE,
    TRANSPORTS,
    answer,
    chosen_transport,
    closed_after,
    failing,
    request,
)
from tests.http.clocks import StillClock
from tests.http.streams import case

HELLO = ollama_stream(assistant("Hello there."))
CLOUD = "ollama-cloud"


@pytest.fixture(autouse=True, params=TRANSPORTS)
def _transport(request: pytest.FixtureRequest) -> None:
    chosen_transport.update(request.param)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def offered(home: Path = NO_HOME, **config: Any) -> dict[str, Provider]:
    plugin = OllamaPlugin(OllamaConfig.model_validate({"retry_jitter": 0, **chosen_transport, **config}))
    providers = plugin.bumble_providers(home=home, files=SystemFiles(), clock=StillClock())
    return {provider.name: provider for provider in providers}


def at(stub: StubServer, name: str = "ollama", **config: Any) -> AbstractAsyncContextManager[Provider]:
    """Give the provider that asks `stub`, and close it."""
    return closed_after(offered(**{"base_url": stub.url, **config})[name])


async def test_an_answer_is_streamed_and_counted() -> None:
    async with StubServer([ndjson_reply(HELLO)]) as stub, at(stub) as provider:
        text, done = await answer(provider)
    assert (text, done.message.text, done.finish) == ("Hello there.", "Hello there.", "stop")
    assert (done.usage.input_tokens, done.usage.output_tokens) == (12, 3)
    assert (str(done.model), stub.requests[0].path) == ("ollama:m", "/api/chat")


async def test_thoughts_and_calls_come_back_with_ids_of_their_own() -> None:
    calls = [ToolCall(name="read_note", arguments={"path": path}) for path in ("a", "a")]
    said = Message(role="assistant", parts=(Thinking(text="hm"), Text(text="So."), *calls), source="model")
    async with StubServer([ndjson_reply(ollama_stream(said))]) as stub, at(stub) as provider:
        _, done = await answer(provider, request(tools=(READ_NOTE,)))
    got = done.message.tool_calls
    assert [call.arguments for call in got] == [{"path": "a"}, {"path": "a"}]
    assert got[0].id != got[1].id
    assert (done.message.thinking, done.message.text, done.finish) == ("hm", "So.", "tool_calls")


async def test_h04_the_window_is_sent_with_every_request() -> None:
    async with StubServer([ndjson_reply(HELLO)]) as stub, at(stub) as provider:
        for _ in range(2):
            await answer(provider, request(context_window=32768))
    assert [sent.json["options"]["num_ctx"] for sent in stub.requests] == [32768, 32768]
    assert stub.connections == 1


def test_the_profile_and_the_tools_are_sent_as_the_server_takes_them() -> None:
    profile = Profile(name="deliberate", max_tokens=99, thinking=True, temperature=0.1)
    body = encode_fields(request(profile=profile, tools=(READ_NOTE,), context_window=4096), "m")
    assert body["options"] == {"num_ctx": 4096, "num_predict": 99, "temperature": 0.1}
    assert (body["think"], body["truncate"], body["stream"]) == (True, False, True)
    assert "tools" in body
    assert "tools" not in encode_fields(request(tools=(READ_NOTE,), tool_choice="none"), "m")


def test_messages_are_sent_as_the_server_takes_them() -> None:
    call = ToolCall(id="c", name="read_note", arguments={"path": "a"})
    picture = Message(role="user", parts=(Text(text="see"), Image(media_type="image/png", data="QUJD")), source="user")
    result = tool_message(ToolResult(call_id="c", name="read_note", content="out"))
    sent = {"function": {"name": "read_note", "arguments": {"path": "a"}}}
    messages = (picture, assistant("", call), result, user("go on"))
    assert [entry for message in messages for entry in encode_message(message)] == [
        {"role": "user", "content": "see", "images": ["QUJD"]},
        {"role": "assistant", "content": "", "tool_calls": [sent]},
        {"role": "tool", "tool_name": "read_note", "content": "out"},
        {"role": "user", "content": "go on"},
    ]


@pytest.mark.parametrize(
    ("status", "error", "kind", "match"),
    [
        (404, 'model "m" not found, try pulling it first', ModelMissing, "`ollama pull m`"),
        (400, "the input length exceeds the context length", ContextOverflow, "exceeds"),
        (400, "request (9000 tokens) exceeds the available context size (4096 tokens)", ContextOverflow, "4096"),
        (503, "server busy, please try again", Overloaded, "busy"),
        (401, "unauthorized", AuthenticationError, "key"),
    ],
    ids=["no-model", "overflow", "overflow-with-sizes", "busy", "unauthorized"],
)
async def test_a_refusal_becomes_what_the_caller_can_do(
    status: int, error: str, kind: type[InferenceError], match: str
) -> None:
    async with (
        StubServer([json_reply({"error": error}, status=status)]) as stub,
        at(stub, retry_attempts=1) as provider,
    ):
        _, raised = await failing(provider.stream(request(), "m"))
    assert type(raised) is kind
    assert match in str(raised)


async def test_h04_an_error_inside_a_good_status_fails_after_its_text() -> None:
    body = next(s["bytes"] for s in case("H04")["given"]["streams"] if s["name"] == "error_line_after_text")
    async with StubServer([ndjson_reply([body.encode()])]) as stub, at(stub) as provider:
        got, error = await failing(provider.stream(request(), "m"))
    assert got == [Delta(text="Half an ans")]
    assert "runner has stopped" in str(error)
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("error", "knob"),
    [('"m" does not support thinking', "think"), ("m does not support tools", "tools")],
    ids=["thinking", "tools"],
)
async def test_what_a_model_cannot_do_is_left_out_once_and_remembered(error: str, knob: str) -> None:
    async with (
        StubServer([json_reply({"error": error}, status=400), ndjson_reply(HELLO)]) as stub,
        at(stub) as provider,
    ):
        asked = request(tools=(READ_NOTE,))
        for _ in range(2):
            await answer(provider, asked)
    assert [knob in sent.json for sent in stub.requests] == [True, False, False]


@pytest.mark.parametrize("end", ["cut", "reset", "normal"])
async def test_an_answer_that_was_not_done_is_cut(end: Any) -> None:
    said = assistant("Some words", ToolCall(name="read_note", arguments={"path": "a"}))
    async with StubServer([StubReply(body=ollama_stream(said)[:-1], end=end)]) as stub, at(stub) as provider:
        _, done = await answer(provider)
    assert (done.finish, done.message.tool_calls) == ("cut", ())


async def test_calls_of_an_answer_cut_by_its_length_must_not_run() -> None:
    said = assistant("", ToolCall(name="read_note", arguments={"path": "a"}))
    async with StubServer([ndjson_reply(ollama_stream(said, reason="length"))]) as stub, at(stub) as provider:
        _, done = await answer(provider)
    assert done.finish == "length"
    assert "cut" in done.message.tool_calls[0].problem


@pytest.mark.parametrize("body", [b"<html>", b"[1]\n", b"{oops}\n", b""], ids=["html", "list", "no-json", "empty"])
async def test_a_body_that_is_no_answer_is_malformed(body: bytes) -> None:
    async with StubServer([StubReply(body=[body])]) as stub, at(stub, retry_attempts=1) as provider:
        _, error = await failing(provider.stream(request(), "m"))
    assert isinstance(error, MalformedReply)


async def test_leaving_in_mid_stream_closes_the_connection() -> None:
    async with StubServer([StubReply(body=HELLO[:1], end="hang")]) as stub, at(stub) as provider:
        async with aclosing(provider.stream(request(), "m")) as items:
            await anext(items)
        async with asyncio.timeout(2):
            await stub.abandoned.wait()


async def test_models_are_listed_the_first_by_default() -> None:
    listing = {"models": [{"name": "qwen3:8b", "size": 5}, {"name": "tiny"}, {"model": "nameless"}]}
    async with StubServer([json_reply(listing)]) as stub, at(stub) as provider:
        models = await provider.models()
    assert [(str(m.ref), m.size, m.is_default) for m in models] == [
        ("ollama:qwen3:8b", 5, True),
        ("ollama:tiny", None, False),
    ]


async def test_nobody_there_says_how_to_start_it() -> None:
    async with closed_after(offered(base_url="http://127.0.0.1:9")["ollama"]) as provider:
        with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9.*`ollama serve`"):
            await provider.models()


async def test_the_cloud_needs_a_key_and_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StubServer([ndjson_reply(HELLO)]) as stub, at(stub, CLOUD, cloud={"base_url": stub.url}) as cloud:
        _, error = await failing(cloud.stream(request(), "m"))
        monkeypatch.setenv("OLLAMA_API_KEY", "k")
        _, done = await answer(cloud)
    assert isinstance(error, AuthenticationError)
    assert "`OLLAMA_API_KEY`" in str(error)
    assert (stub.requests[0].headers["authorization"], str(done.model)) == ("Bearer k", "ollama-cloud:m")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("0.0.0.0", "http://localhost:11434"),
        ("0.0.0.0:8080", "http://localhost:8080"),
        ("box", "http://box:11434"),
        (":1234", "http://localhost:1234"),
        ("http://box", "http://box:80"),
        ("https://box/ollama/", "https://box:443/ollama"),
        ("[::1]:5", "http://[::1]:5"),
        ("me:pw@box:5", "http://me:pw@box:5"),
    ],
)
def test_the_environment_names_a_host_as_the_server_itself_reads_it(host: str, address: str) -> None:
    assert address_of(host) == address


async def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StubServer([ndjson_reply(HELLO)]) as stub:
        monkeypatch.setenv("OLLAMA_HOST", stub.url.removeprefix("http://"))
        async with closed_after(offered()["ollama"]) as provider:
            await answer(provider)
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("host", "is_exclusive"), [("", True), ("127.0.0.1", True), ("box.example", False)], ids=["unset", "here", "there"]
)
def test_runs_give_way_to_turns_on_the_server_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, host: str, is_exclusive: bool
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert isinstance(offered()["ollama"], Exclusive) is is_exclusive
    assert not isinstance(offered()[CLOUD], Exclusive)


def test_an_environment_that_names_no_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "box:port")
    with pytest.raises(ConfigError, match="OLLAMA_HOST"):
        offered()
