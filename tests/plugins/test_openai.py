"""The `openai` provider against a real server on this machine."""

from __future__ import annotations

import asyncio
import base64
import logging
import socket
import subprocess
import sys
import traceback
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from bumble_openai import OpenAIConfig, OpenAIPlugin
from pydantic import ValidationError

from bumble_core import ConfigError
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import (
    AuthenticationError,
    Filtered,
    InferenceError,
    InvalidRequest,
    MalformedReply,
    Overloaded,
    TimedOut,
    Unreachable,
)
from bumble_core.ports import Provider
from bumble_core.testing.stub_replies import json_reply, openai_stream, sse_reply
from bumble_core.testing.stub_server import Pause, StubReply, StubServer
from bumble_core.types.inference import Delta
from bumble_core.types.messages import Message, Thinking, ToolCall, assistant
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

HELLO = openai_stream(assistant("Hello there."))


@pytest.fixture(autouse=True, params=TRANSPORTS)
def _transport(request: pytest.FixtureRequest) -> None:
    chosen_transport.update(request.param)


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def offered(clock: StillClock | None = None, home: Path = NO_HOME, **config: Any) -> dict[str, Provider]:
    plugin = OpenAIPlugin(OpenAIConfig.model_validate({"retry_jitter": 0, **chosen_transport, **config}))
    providers = plugin.bumble_providers(home=home, files=SystemFiles(), clock=clock or StillClock())
    return {provider.name: provider for provider in providers}


def at(
    stub: StubServer, clock: StillClock | None = None, name: str = "openai", **config: Any
) -> AbstractAsyncContextManager[Provider]:
    """Give the provider that asks `stub`, and close it."""
    return closed_after(offered(clock, **{"base_url": f"{stub.url}/v1", **config})[name])


async def test_an_answer_is_streamed_and_counted() -> None:
    async with StubServer([sse_reply(HELLO)]) as stub, at(stub) as provider:
        text, done = await answer(provider)
    assert (text, done.message.text, done.finish) == ("Hello there.", "Hello there.", "stop")
    assert (done.usage.input_tokens, done.usage.output_tokens, done.usage.estimated) == (12, 3, False)
    assert (str(done.model), stub.requests[0].path) == ("openai:m", "/v1/chat/completions")


async def test_calls_and_thoughts_come_back_as_they_were() -> None:
    call = ToolCall(id="c1", name="read_note", arguments={"path": "ü.txt"})
    said = Message(role="assistant", parts=(Thinking(text="hm"), call), source="model")
    async with StubServer([sse_reply(openai_stream(said))]) as stub, at(stub) as provider:
        text, done = await answer(provider, request(tools=(READ_NOTE,)))
    assert (text, done.message.parts, done.finish) == ("", said.parts, "tool_calls")
    assert stub.requests[0].json["tools"][0]["function"]["name"] == "read_note"


async def test_one_connection_serves_many_requests() -> None:
    async with StubServer([sse_reply(HELLO)]) as stub, at(stub) as provider:
        for _ in range(5):
            await answer(provider)
        assert (len(stub.requests), stub.connections) == (5, 1)


async def test_leaving_in_mid_stream_closes_the_connection() -> None:
    reply = StubReply(headers={"content-type": "text/event-stream"}, body=HELLO[:3], end="hang")
    async with StubServer([reply]) as stub, at(stub) as provider:
        async with aclosing(provider.stream(request(), "m")) as items:
            first = await anext(items)
            assert isinstance(first, Delta)
            assert first.text.startswith("Hello t")
        async with asyncio.timeout(2):
            await stub.abandoned.wait()


async def test_a_cancelled_request_closes_the_connection() -> None:
    async with StubServer([StubReply(body=[Pause(30)])]) as stub, at(stub) as provider:
        task = asyncio.create_task(answer(provider))
        while not stub.requests:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(2):
            await stub.abandoned.wait()


@pytest.mark.parametrize("end", ["cut", "reset"])
@pytest.mark.parametrize("framing", ["chunked", "close"])
async def test_a_connection_that_breaks_gives_a_cut_answer_without_calls(end: Any, framing: Any) -> None:
    said = assistant("Some words", ToolCall(name="read_note", arguments={"path": "a"}))
    body: list[bytes | Pause] = [*openai_stream(said)[:5], Pause(0.05)]
    async with StubServer([StubReply(body=body, framing=framing, end=end)]) as stub, at(stub) as provider:
        text, done = await answer(provider)
    assert (text, done.finish, done.message.tool_calls) == ("Some words", "cut", ())


async def test_an_answer_counts_as_finished_when_only_its_end_is_lost() -> None:
    async with StubServer([StubReply(body=[*HELLO[:-2], Pause(0.05)], end="reset")]) as stub, at(stub) as provider:
        text, done = await answer(provider)
    assert (text, done.finish, done.usage.estimated) == ("Hello there.", "stop", True)


async def test_a_connection_left_open_after_done_does_not_hold_the_answer() -> None:
    async with StubServer([StubReply(body=HELLO, end="hang")]) as stub, at(stub) as provider, asyncio.timeout(2):
        _, done = await answer(provider)
    assert done.finish == "stop"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    said = {"role": "assistant", "content": "Hello."}
    body = {
        "choices": [{"message": said, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1},
    }
    async with StubServer([json_reply(body)]) as stub, at(stub) as provider:
        text, done = await answer(provider)
    assert (text, done.usage.input_tokens) == ("Hello.", 5)


@pytest.mark.parametrize(
    ("name", "kind", "requests"),
    [
        ("html_502", Overloaded, 3),
        ("login_page_200", MalformedReply, 1),
        ("choices_empty", MalformedReply, 3),
        ("choices_null", MalformedReply, 3),
        ("content_filter", Filtered, 1),
    ],
)
async def test_h08_bad_bodies_fail_as_what_they_are(name: str, kind: type[InferenceError], requests: int) -> None:
    row = next(row for row in case("H08")["given"]["rows"] if row["name"] == name)
    body = row["body"] if isinstance(row["body"], str) else row["body"]["repeat"] * row["body"]["times"]
    reply = StubReply(status=row["status"], headers={"content-type": row["content_type"]}, body=[body.encode()])
    async with StubServer([reply]) as stub, at(stub) as provider:
        _, error = await failing(provider.stream(request(), "m"))
    assert type(error) is kind
    assert (len(stub.requests), len(error.earlier)) == (requests, requests - 1)
    assert name != "login_page_200" or "text/html" in str(error)


async def test_h02_text_that_was_heard_is_not_asked_for_again() -> None:
    body = next(s for s in case("H02")["given"]["streams"] if s["name"] == "error_object_after_text")["bytes"]
    async with StubServer([StubReply(body=[body.encode()]), sse_reply(HELLO)]) as stub, at(stub) as provider:
        got, error = await failing(provider.stream(request(), "m"))
    assert "".join(item.text for item in got if isinstance(item, Delta)) == "Partial answer"
    assert (len(stub.requests), error.is_retryable) == (1, False)


@pytest.mark.parametrize("row", case("H06")["given"]["rows"], ids=lambda row: row["name"])
async def test_h06_the_header_decides_the_pause(row: dict[str, Any]) -> None:
    clock, headers = StillClock(), {} if row["retry_after"] is None else {"retry-after": row["retry_after"]}
    async with (
        StubServer([json_reply({"error": "x"}, status=row["status"], headers=headers), sse_reply(HELLO)]) as stub,
        at(stub, clock) as provider,
    ):
        _, done = await answer(provider)
    assert row["wait_s"][0] <= sum(clock.slept) <= row["wait_s"][1]
    assert (len(stub.requests), len(done.failed_attempts)) == (2, 1)


@pytest.mark.parametrize(
    ("message", "before", "after"),
    [
        ("Unrecognized request argument supplied: stream_options", "stream_options", None),
        (
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            "max_tokens",
            "max_completion_tokens",
        ),
        ("Unsupported value: 'temperature' does not support 0.5. Only 1 is supported.", "temperature", None),
        ("To use function tools, use /v1/responses or set reasoning_effort to 'none'.", None, "reasoning_effort"),
    ],
    ids=["usage", "limit", "temperature", "reasoning"],
)
async def test_what_a_server_refuses_is_left_out_once_and_remembered(
    message: str, before: str | None, after: str | None
) -> None:
    refusal = json_reply({"error": {"message": message, "type": "invalid_request_error"}}, status=400)
    async with StubServer([refusal, sse_reply(HELLO)]) as stub, at(stub) as provider:
        asked = request(tools=(READ_NOTE,))
        for _ in range(2):
            await answer(provider, asked)
    bodies = [sent.json for sent in stub.requests]
    assert [before is None or before in body for body in bodies] == [True, before is None, before is None]
    assert [after is not None and after in body for body in bodies] == [False, after is not None, after is not None]


async def test_another_refusal_is_not_asked_again() -> None:
    row = next(row for row in case("H07")["given"]["rows"] if row["name"] == "other_400")
    async with StubServer([StubReply(status=400, body=[row["body"].encode()])]) as stub, at(stub) as provider:
        _, error = await failing(provider.stream(request(), "m"))
    assert (type(error), len(stub.requests)) == (InvalidRequest, 1)


@pytest.mark.parametrize(
    ("body", "settings", "phase"),
    [
        ([Pause(5)], {"first_byte_timeout_s": 0.1}, "first_byte"),
        ([HELLO[0], HELLO[1], Pause(5)], {"between_bytes_timeout_s": 0.1}, "between_bytes"),
        ([HELLO[0], HELLO[1], Pause(5)], {"timeout_s": 0.2}, "whole"),
    ],
    ids=["first-byte", "between-bytes", "whole"],
)
async def test_each_wait_has_its_own_limit(body: list[Any], settings: dict[str, Any], phase: str) -> None:
    async with StubServer([StubReply(body=body)]) as stub, at(stub, retry_attempts=1, **settings) as provider:
        _, error = await failing(provider.stream(request(), "m"))
    assert isinstance(error, TimedOut)
    assert error.phase == phase
    assert f"`{next(iter(settings))}`" in str(error)


async def test_a_connection_that_is_not_accepted_times_out() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(2)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        async with closed_after(offered(base_url=url, connect_timeout_s=0.2, retry_attempts=1)["openai"]) as provider:
            _, error = await failing(provider.stream(request(), "m"))
        for each in waiting:
            each.close()
    assert isinstance(error, TimedOut)
    assert error.phase == "connect"


async def test_nobody_there_names_the_address_and_how_to_start_a_server() -> None:
    clock = StillClock()
    with socket.socket() as taken:  # bound and not listening: nobody else can get the port meanwhile
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        async with closed_after(offered(clock, base_url=f"http://127.0.0.1:{port}/v1")["openai"]) as provider:
            _, error = await failing(provider.stream(request(), "m"))
    assert isinstance(error, Unreachable)
    assert f"127.0.0.1:{port}" in str(error)
    assert "llama-server" in str(error)
    assert clock.slept == [1, 2]


async def test_the_official_server_is_not_asked_without_a_key() -> None:
    _, error = await failing(offered()["openai"].stream(request(), "m"))
    assert isinstance(error, AuthenticationError)
    assert "`OPENAI_API_KEY`" in str(error)


async def test_a_key_comes_from_the_environment_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-file\n")
    async with StubServer([sse_reply(HELLO)]) as stub, at(stub, api_key_file=tmp_path / "key") as provider:
        await answer(provider)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
        await answer(provider)
    assert [sent.headers["authorization"] for sent in stub.requests] == ["Bearer sk-file", "Bearer sk-env"]


async def test_a_named_endpoint_is_a_provider_of_its_own() -> None:
    async with StubServer([sse_reply(HELLO)]) as stub:
        lab = {"base_url": f"{stub.url}/api", "headers": {"X-Lab": "7"}}
        async with at(stub, name="lab", endpoints={"lab": lab}) as provider:
            _, done = await answer(provider)
    assert (str(done.model), stub.requests[0].path) == ("lab:m", "/api/chat/completions")
    assert stub.requests[0].headers["x-lab"] == "7"


async def test_the_environment_names_the_default_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async with StubServer([sse_reply(HELLO)]) as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/env")
        async with closed_after(offered()["openai"]) as provider:
            await answer(provider)
    assert stub.requests[0].path == "/env/chat/completions"


def test_an_address_that_is_none_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError, match="expected an address") as caught:
        OpenAIConfig(base_url="user:hunter2@host")
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("OPENAI_BASE_URL", "nonsense")
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        offered()


@pytest.mark.parametrize("name", ["openai", "a:b", ""])
def test_an_endpoint_needs_a_name_of_its_own(name: str) -> None:
    with pytest.raises(ValidationError, match="cannot name an endpoint"):
        OpenAIConfig.model_validate({"endpoints": {name: {"base_url": "http://h"}}})


async def test_models_are_listed_with_what_the_server_tells() -> None:
    listing = {"data": [{"id": "big", "max_model_len": 4096}, {"id": "small", "meta": {"size": 7}}, {"no": "id"}]}
    async with StubServer([json_reply(listing)]) as stub, at(stub, default_model="small") as provider:
        models = await provider.models()
    assert [(str(m.ref), m.context_window, m.size, m.is_default) for m in models] == [
        ("openai:big", 4096, None, False),
        ("openai:small", None, 7, True),
    ]


@pytest.mark.parametrize("body", [{"data": None}, []], ids=["no-data", "list"])
async def test_a_list_of_models_that_is_none_is_malformed(body: Any) -> None:
    async with StubServer([json_reply(body)]) as stub, at(stub) as provider:
        with pytest.raises(MalformedReply):
            await provider.models()


def test_a_provider_serves_one_event_loop_after_another() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    provider = offered(base_url=f"http://127.0.0.1:{port}")["openai"]

    async def turn() -> str:
        async with StubServer([StubReply(body=HELLO, framing="close")], port=port):
            return (await answer(provider))[0]

    assert [asyncio.run(turn()) for _ in range(3)] == ["Hello there."] * 3


def test_offering_providers_does_not_import_httpx() -> None:
    code = (
        "import sys; from bumble_openai import *; from bumble_ollama import *\n"
        "OpenAIPlugin(OpenAIConfig()).bumble_providers(home=None, files=None, clock=None)\n"
        "OllamaPlugin(OllamaConfig()).bumble_providers(home=None, files=None, clock=None)\n"
        "sys.exit('httpx' in sys.modules or 'ssl' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


KEY, PASSWORD, TOKEN = (case("H25")["given"]["secrets"][name] for name in ("api_key", "url_password", "env_token"))
REFUSALS = {
    "refused": None,
    "unauthorized": StubReply(status=401, body=[f"Incorrect key {KEY}, user:{PASSWORD}".encode()]),
    "fault": StubReply(status=500, body=[f"Traceback: /v1?token={TOKEN} {quote(KEY)}".encode()]),
    "in-a-stream": StubReply(body=[b'data: {"error": {"message": "bad key %s"}}\n\n' % KEY.encode()]),
    "no-json": StubReply(body=[b"data: you sent %s\n\n" % base64.b64encode(KEY.encode())]),
    "moved": StubReply(status=307, headers={"location": "http://elsewhere/v1"}),
    "answered": sse_reply(HELLO),
}


async def shown_by(provider: Provider) -> str:
    """Return all that a person may come to see of a failed request."""
    try:
        await answer(provider)
    except InferenceError as error:
        return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(provider))
    return repr(vars(provider))


@pytest.mark.parametrize("name", REFUSALS)
async def test_h25_no_secret_is_in_a_log_a_message_or_a_trace(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("BUMBLE_TEST_KEY", KEY)
    async with StubServer([reply] if (reply := REFUSALS[name]) else []) as stub:
        host = stub.url.removeprefix("http://") if reply else "127.0.0.1:9"
        url = f"http://user:{PASSWORD}@{host}/v1?token={TOKEN}"
        async with at(stub, base_url=url, api_key_env="BUMBLE_TEST_KEY") as provider:
            everything = await shown_by(provider) + caplog.text + "".join(capsys.readouterr())
    for secret in (KEY, PASSWORD, TOKEN):
        forms = (secret, base64.b64encode(secret.encode()).decode(), quote(secret))
        assert [form for form in forms if form in everything] == []
    assert name == "answered" or host in everything


async def test_the_key_and_the_token_of_the_address_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with StubServer([sse_reply(HELLO)]) as stub, at(stub, base_url=f"{stub.url}/v1?token={TOKEN}") as provider:
        await answer(provider)
    assert stub.requests[0].path == f"/v1/chat/completions?token={TOKEN}"
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_password_in_the_address_opens_a_server_that_takes_no_key() -> None:
    async with StubServer([sse_reply(HELLO)]) as stub, at(stub, base_url=_with_password(stub)) as provider:
        await answer(provider)
    assert stub.requests[0].headers["authorization"] == f"Basic {base64.b64encode(b'me:p@ss').decode()}"


def _with_password(stub: StubServer) -> str:
    return stub.url.replace("//", "//me:p%40ss@")


async def test_a_named_endpoint_without_its_key_is_not_asked() -> None:
    lab = {"base_url": "http://127.0.0.1:9", "api_key_env": "BUMBLE_NO_SUCH_KEY"}
    with pytest.raises(AuthenticationError, match="`BUMBLE_NO_SUCH_KEY`"):
        await offered(endpoints={"lab": lab})["lab"].models()
