"""`bumble run` as a process against a scripted server that speaks as OpenAI's does."""

from __future__ import annotations

import asyncio

import pexpect

from bumble_core import Message, ToolCall, assistant
from bumble_core.testing.stub_replies import json_reply, openai_stream, sse_reply
from bumble_core.testing.stub_server import Pause, StubReply, StubServer
from tests.cli.talker import ONLY_THE_CONVERSATION, configure
from tests.installed import Ended, Installed

KEY = "sk-not-to-be-shown-0123456789"
MODELS = json_reply({"object": "list", "data": [{"id": "m", "object": "model"}]})


def says(message: Message) -> StubReply:
    return sse_reply(openai_stream(message))


async def run(installed: Installed, stub: StubServer, *arguments: str) -> Ended:
    variables = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{stub.url}/v1"}
    return await asyncio.to_thread(installed.bumble, "run", *arguments, **variables)


async def test_a_turn_writes_a_file_reads_it_back_and_tells(installed: Installed) -> None:
    written = ToolCall(name="write_file", arguments={"path": "owl.txt", "text": "uhu\n"})
    read = ToolCall(name="read_file", arguments={"path": "owl.txt"})
    replies = [says(assistant("", written)), says(assistant("", read)), says(assistant("It says uhu."))]
    configure(installed, ONLY_THE_CONVERSATION)
    async with StubServer(replies) as stub:
        ended = await run(installed, stub, "--model", "openai:m", "Write and read owl.txt")
    assert (ended.status, ended.out) == (0, "It says uhu.\n")
    assert [line.split()[1] for line in ended.err.splitlines() if line.startswith("·")] == ["write_file", "read_file"]
    assert installed.work.joinpath("owl.txt").read_text() == "uhu\n"
    results = [message["content"] for message in stub.requests[2].json["messages"] if message["role"] == "tool"]
    assert "uhu" in results[-1]


async def test_a_key_alone_is_enough(installed: Installed) -> None:
    async with StubServer([MODELS, says(assistant("Hello."))]) as stub:
        ended = await run(installed, stub, "hi")
    assert (ended.status, ended.out) == (0, "Hello.\n")
    assert "· using openai:m, the first model found" in ended.err


async def test_a_refused_key_is_an_error_that_does_not_show_it(installed: Installed) -> None:
    refused = json_reply({"error": {"message": f"Incorrect API key provided: {KEY}"}}, status=401)
    async with StubServer([refused]) as stub:
        ended = await run(installed, stub, "--model", "openai:m", "hi")
    assert (ended.status, ended.out) == (1, "")
    assert "Error: " in ended.err
    assert KEY not in ended.err


async def test_a_terminal_sees_the_answer_while_it_is_written(installed: Installed) -> None:
    configure(installed, "agent: {models: [openai:m]}\n")
    pieces = openai_stream(assistant("Hello there, person."))
    slow = sse_reply([*pieces[:2]]).body
    async with StubServer([StubReply(headers={"content-type": "text/event-stream"}, body=(*slow, Pause(30)))]) as stub:
        python, *rest = installed.command("run", "hi")
        variables = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{stub.url}/v1", "TERM": "xterm"}
        environment = {**installed.environment, **variables}
        process = pexpect.spawn(python, rest, cwd=str(installed.work), env=environment, encoding="utf-8", timeout=20)
        await process.expect_exact("Hello t", async_=True)
        process.sendintr()
        await process.expect_exact("Cancelled.", async_=True)
        await process.expect(pexpect.EOF, async_=True)
        process.close()
    assert (process.exitstatus, stub.left_early) == (130, 1)
