"""`bumble run` as a process, against servers that speak over HTTP and a model inside it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pexpect
import pytest
from bumble_local import pull

from bumble_core import Message, ToolCall, assistant
from bumble_core.testing.llama_server import LlamaServer, llama_server
from bumble_core.testing.stub_replies import ndjson_reply, ollama_stream, openai_stream, sse_reply
from bumble_core.testing.stub_server import StubReply, StubServer
from tests.installed import Installed

QUESTION = "Name one colour of the rainbow."
STEADY = {"BUMBLE__COGNITION__TEMPERATURE": "0"}  # else the small model rambles now and then
WRITE = ToolCall(id="w1", name="write_file", arguments={"path": "owl.txt", "text": "uhu\n"})
READ = ToolCall(id="r1", name="read_file", arguments={"path": "owl.txt"})
STEPS = (assistant("", WRITE), assistant("", READ), assistant("The file says uhu."))


def openai(steps: Sequence[Message]) -> list[StubReply]:
    return [sse_reply(openai_stream(step)) for step in steps]


def ollama(steps: Sequence[Message]) -> list[StubReply]:
    return [ndjson_reply(ollama_stream(step)) for step in steps]


@pytest.mark.parametrize(
    ("model", "replies", "variable", "path"),
    [
        ("openai:m", openai, "OPENAI_BASE_URL", "/v1"),
        ("ollama:m", ollama, "OLLAMA_HOST", ""),
    ],
    ids=["openai", "ollama"],
)
async def test_turn_writes_a_file_reads_it_back_and_tells(
    installed: Installed, model: str, replies: Callable[[Any], list[StubReply]], variable: str, path: str
) -> None:
    async with StubServer(replies(STEPS)) as stub:
        variables = {"OPENAI_API_KEY": "k", variable: f"{stub.url}{path}"}
        given = ("run", "--json", "--model", model, "Write owl.txt and read it back.")
        ended = await asyncio.to_thread(installed.bumble, *given, **variables)
    turn = json.loads(ended.out)
    results = [part for message in turn["messages"] for part in message["parts"] if part["kind"] == "tool_result"]
    assert (ended.status, turn["status"], turn["delivered"]) == (0, "done", ["The file says uhu."])
    assert installed.work.joinpath("owl.txt").read_text() == "uhu\n"
    assert [(result["name"], result["status"]) for result in results] == [("write_file", "ok"), ("read_file", "ok")]
    assert "uhu" in stub.requests[-1].body.decode()


@pytest.fixture(scope="module")
def model_file() -> Path:
    return pull("smollm2")


@pytest.fixture(scope="module")
def llama(model_file: Path) -> Iterator[LlamaServer]:
    with llama_server(model_file) as server:
        yield server


@pytest.mark.slow
async def test_real_server_streams_an_answer_to_a_terminal(installed: Installed, llama: LlamaServer) -> None:
    python, *rest = installed.command("run", "--quiet", "--model", f"openai:{llama.model}", QUESTION)
    variables = {"OPENAI_API_KEY": llama.api_key, "OPENAI_BASE_URL": llama.base_url, "TERM": "xterm"}
    process = pexpect.spawn(
        python, rest, cwd=str(installed.work), env={**installed.environment, **variables}, timeout=60
    )
    pieces: list[bytes] = []
    while not pieces or pieces[-1]:
        pieces.append(await asyncio.to_thread(_piece, process))
    process.close()
    assert process.exitstatus == 0
    assert len([piece for piece in pieces if piece.strip()]) > 3


@pytest.mark.slow
async def test_real_server_answers_and_the_turn_says_what_it_cost(installed: Installed, llama: LlamaServer) -> None:
    variables = {"OPENAI_API_KEY": llama.api_key, "OPENAI_BASE_URL": llama.base_url}
    given = ("run", "--json", "--model", f"openai:{llama.model}", QUESTION)
    ended = await asyncio.to_thread(installed.bumble, *given, **variables)
    turn = json.loads(ended.out)
    assert (ended.status, turn["status"], bool(turn["delivered"][0].strip())) == (0, "done", True)
    assert turn["usage"]["input_tokens"] > 20
    assert turn["usage"]["output_tokens"] > 0


@pytest.mark.slow
def test_model_inside_the_process_answers(installed: Installed, model_file: Path) -> None:
    variables = {"BUMBLE_MODELS": str(model_file.parent), **STEADY}
    ended = installed.bumble("run", "--model", "local:smollm2", QUESTION, **variables)
    assert ended.status == 0, ended.err
    assert len(ended.out.strip()) > 3


@pytest.mark.slow
def test_model_inside_the_process_goes_on_with_a_conversation(installed: Installed, model_file: Path) -> None:
    variables = {"BUMBLE_MODELS": str(model_file.parent), "BUMBLE__GATE__POLICY": "heuristics", **STEADY}
    first = installed.bumble("run", "--session", "s", "--model", "local:smollm2", QUESTION, **variables)
    second = installed.bumble("run", "--continue", "--json", "--model", "local:smollm2", "And another?", **variables)
    shown = json.loads(installed.bumble("sessions", "show", "s", "--json").out)
    assert (first.status, second.status) == (0, 0), second.err
    assert [turn["messages"][0]["parts"][0]["text"] for turn in shown] == [QUESTION, "And another?"]


def _piece(process: pexpect.spawn[bytes]) -> bytes:
    """Return what the process wrote next; nothing at its end."""
    try:
        piece: bytes = process.read_nonblocking(4096, timeout=60)
    except pexpect.EOF:
        return b""
    return piece
