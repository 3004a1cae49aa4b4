"""What is sent to a stub server is held to the laws of histories and prefixes."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from bumble_ollama.requests import encode_fields, encode_message

from bumble_core.chat import encode_request
from bumble_core.testing.bodies import BodyChecker, check_body, messages_of
from bumble_core.testing.stub_server import StubReply, StubRequest, StubServer
from bumble_core.types.inference import Request
from bumble_core.types.messages import ToolCall, ToolResult, assistant, system, tool_message, user
from tests.http.asking import READ_NOTE, request

CALLS = [ToolCall(id="a", name="read_note", arguments={"path": "x"}), ToolCall(id="b", name="read_note")]
RESULTS = [tool_message(ToolResult(call_id=call.id, name=call.name, content="out")) for call in CALLS]
HISTORY = (system("be"), user("hi"), assistant("", *CALLS), *RESULTS, assistant("done"), user("and?"))


def said(*entries: dict[str, Any], **body: Any) -> dict[str, Any]:
    return {"messages": list(entries), **body}


def call(identity: str, arguments: object = "{}") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": "f", "arguments": arguments}}


def tool(**function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, **function}}


USER = {"role": "user", "content": "hi"}
ASKS = {"role": "assistant", "content": None, "tool_calls": [call("a")]}


def encode_ollama(asked: Request, model: str) -> dict[str, Any]:
    messages = [entry for message in asked.messages for entry in encode_message(message)]
    return {**encode_fields(asked, model), "messages": messages}


BROKEN = {
    "no-result": (said(USER, ASKS, USER), r"the calls \['a'\] have no result"),
    "result-of-nothing": (said(USER, {"role": "tool", "tool_call_id": "a", "content": "x"}), "without a call"),
    "result-of-another": (said(USER, ASKS, {"role": "tool", "tool_call_id": "b", "content": "x"}), "got"),
    "result-without-text": (said(USER, ASKS, {"role": "tool", "tool_call_id": "a", "content": None}), "is a text"),
    "same-id-twice": (said(USER, {**ASKS, "tool_calls": [call("a"), call("a")]}), "used twice"),
    "two-users": (said(USER, USER), "two in a row"),
    "system-later": (said(USER, {"role": "system", "content": "be"}), "stands first"),
    "strange-role": (said({"role": "developer", "content": "be"}), "no role 'developer'"),
    "nothing-said": (said(USER, {"role": "assistant", "content": ""}), "empty"),
    "no-content": (said(USER, {"role": "assistant", "content": None}), "neither content nor calls"),
    "arguments-no-text": (said(USER, {**ASKS, "tool_calls": [call("a", {})]}), "are no text"),
    "arguments-no-object": (said(USER, {**ASKS, "tool_calls": [call("a", "[]")]}), "are no object"),
    "tools-of-one-name": (said(USER, tools=[tool(), tool()]), "two tools of one name"),
    "tool-of-a-list": (said(USER, tools=[tool(parameters={"type": "array"})]), "does not take an object"),
    "choice-of-nothing": (said(USER, tool_choice="required"), "`tool_choice` without `tools`"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_body_that_breaks_a_law_is_found(name: str) -> None:
    body, match = BROKEN[name]
    with pytest.raises(AssertionError, match=match):
        check_body(body)


@pytest.mark.parametrize("encode", [encode_request, encode_ollama], ids=["chat", "ollama"])
def test_what_the_providers_send_is_read_back(encode: Any) -> None:
    body = encode(request(*HISTORY, tools=(READ_NOTE,)), "m")
    check_body(body)
    read = messages_of(body)
    assert [message.role for message in read] == [message.role for message in HISTORY]
    assert [message.text for message in read] == [message.text for message in HISTORY]
    assert [each.arguments for message in read for each in message.tool_calls] == [each.arguments for each in CALLS]


async def post(stub: StubServer, body: object) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.post(stub.url, json=body)


async def test_a_server_that_was_sent_a_broken_history_says_so_when_it_is_left() -> None:
    with pytest.raises(AssertionError, match=r"POST /: message 1 \(user\): two in a row"):
        async with StubServer([StubReply(body=[b"ok"])]) as stub:
            assert (await post(stub, said(USER, USER))).status_code == 400
    async with StubServer([StubReply(body=[b"ok"])], checks=False) as stub:
        assert (await post(stub, said(USER, USER))).text == "ok"


async def test_a_function_answers_from_the_request() -> None:
    def echo(asked: StubRequest) -> StubReply:
        return StubReply(body=[asked.json["messages"][-1]["content"].encode()])

    async with StubServer(echo) as stub:
        answers = [(await post(stub, said({"role": "user", "content": text}))).text for text in ("one", "two")]
    assert answers == ["one", "two"]


def body(*messages: tuple[str, str], system: str = "You are kind.") -> dict[str, object]:
    told = [{"role": role, "content": text} for role, text in (("system", system), *messages)]
    return {"model": "m", "messages": told}


TAIL = "\n\n[Turn context]\nnoon"
HI, HELLO = ("user", "hi"), ("assistant", "Hello.")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (body(("user", f"hi{TAIL}")), body(HI, HELLO, ("user", f"more{TAIL}"))),
        (body(HI, HELLO, ("user", f"one{TAIL}")), body(HI, HELLO, ("user", f"two{TAIL}"))),
        (body(HI, HELLO, ("user", "[Turn context]\nnoon")), body(HI, HELLO, ("user", "then"), HELLO, ("user", "x"))),
        (body(HI, HELLO, ("user", f"one{TAIL}")), body(("user", "other"), HELLO, ("user", f"one{TAIL}"))),
        (body(("user", f"hi{TAIL}")), body(("user", f"hi{TAIL}"), system="You are stern.")),
        (body(HI, HELLO, ("user", "long text"), HELLO, ("user", "x")), body(HI, ("assistant", "H"), ("user", "y"))),
    ],
    ids=["goes-on", "begins-alike", "a-whole-tail", "another-one", "another-agent", "compacted"],
)
def test_bodies_that_keep_their_prefix_pass(before: dict[str, object], after: dict[str, object]) -> None:
    checker = BodyChecker()
    checker.check(before)
    checker.check(after)


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        (body(HI, HELLO, ("user", "another word"), HELLO, ("user", "two")), "the prefix changed"),
        (body(HI, HELLO, ("user", "one"), HELLO, ("user", "two"), system="It is noon."), "the system prompt changed"),
    ],
    ids=["other-words", "a-clock-above"],
)
def test_bodies_that_break_the_prefix_are_found(after: dict[str, object], problem: str) -> None:
    checker = BodyChecker()
    checker.check(body(HI, HELLO, ("user", f"one{TAIL}")))
    with pytest.raises(AssertionError, match=problem):
        checker.check(after)


async def test_a_stub_server_holds_bodies_to_the_prefix() -> None:
    stub = StubServer([StubReply(body=[b"ok"])])
    with pytest.raises(AssertionError, match="the prefix changed"):
        await ask_all(stub, body(HI, HELLO, ("user", "one")), body(HI, HELLO, ("user", "other"), HELLO, ("user", "x")))


async def ask_all(stub: StubServer, *bodies: dict[str, object]) -> None:
    async with stub, httpx.AsyncClient() as client:
        for each in bodies:
            await client.post(stub.url, json=each)
