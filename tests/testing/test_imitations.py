"""The imitations of servers do as their sources say, seen through the providers that ask them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from bumble_ollama import OllamaConfig, OllamaPlugin
from bumble_openai import OpenAIConfig, OpenAIPlugin

from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import ContextOverflow, InvalidRequest
from bumble_core.ports import Provider
from bumble_core.testing.imitation import WORDS
from bumble_core.testing.imitations import IMITATIONS
from bumble_core.testing.instances import smallest_instance
from bumble_core.testing.stub_server import StubServer
from bumble_core.types.inference import Profile, ToolSpec
from bumble_core.types.messages import user
from tests.http.asking import NO_HOME, answer, closed_after, failing, request
from tests.http.clocks import StillClock

COUNT = ToolSpec(
    name="count",
    description="Count.",
    parameters={
        "type": "object",
        "properties": {"to": {"type": "integer", "minimum": 3}, "how": {"enum": ["up", "down"]}, "why": {}},
        "required": ["to", "how"],
    },
)
DELIBERATE = Profile(name="deliberate", max_tokens=64, thinking=True)


def asking(stub: StubServer, name: str) -> AbstractAsyncContextManager[Provider]:
    given: dict[str, Any] = {"home": NO_HOME, "files": SystemFiles(), "clock": StillClock()}
    if IMITATIONS[name].wire == "ollama":
        return closed_after(OllamaPlugin(OllamaConfig(base_url=stub.url)).bumble_providers(**given)[0])
    knob = "reasoning_effort" if name.startswith(("openrouter", "litellm")) else "auto"
    config = OpenAIConfig(base_url=f"{stub.url}/v1", thinking=knob)
    return closed_after(OpenAIPlugin(config).bumble_providers(**given)[0])


@pytest.mark.parametrize("name", IMITATIONS)
async def test_a_plain_question_is_answered_and_counted(name: str) -> None:
    async with StubServer(IMITATIONS[name]) as stub, asking(stub, name) as provider:
        text, done = await answer(provider)
        (model,) = await provider.models()
    assert (text, done.finish, model.ref.model) == (WORDS, "stop", "m")
    assert (done.usage.estimated, done.usage.output_tokens) == (False, 3)


REFUSING = {
    "ollama-without-tools": "does not support tools",
    "llama.cpp-without-jinja": "tools param requires --jinja flag",
    "vllm-without-parser": "--enable-auto-tool-choice",
    "openrouter-without-choice": "'tool_choice' value",
    "litellm": "UnsupportedParamsError",
}
IN_WORDS = ("ollama",)


@pytest.mark.parametrize("name", [name for name in IMITATIONS if name not in REFUSING])
async def test_a_call_that_is_required_is_made_or_not(name: str) -> None:
    async with StubServer(IMITATIONS[name]) as stub, asking(stub, name) as provider:
        text, done = await answer(provider, request(tools=(COUNT,), tool_choice="required"))
    calls = [(call.name, call.arguments) for call in done.message.tool_calls]
    expected = [] if name in (*IN_WORDS, "lmstudio-silent") else [("count", {"to": 3, "how": "up"})]
    assert (calls, text) == (expected, WORDS if name in IN_WORDS else "")


@pytest.mark.parametrize("name", REFUSING)
async def test_a_call_that_is_required_is_refused_and_not_asked_for_again(name: str) -> None:
    async with StubServer(IMITATIONS[name]) as stub, asking(stub, name) as provider:
        _, error = await failing(provider.stream(request(tools=(COUNT,), tool_choice="required"), "m"))
    assert type(error) is InvalidRequest
    assert REFUSING[name] in str(error)
    assert error.earlier == ()


@pytest.mark.parametrize("name", IMITATIONS)
async def test_thinking_is_asked_for_as_the_server_takes_it(name: str) -> None:
    thinks = {"ollama-without-tools", "llama.cpp", "vllm", "openrouter"}
    async with StubServer(IMITATIONS[name]) as stub, asking(stub, name) as provider:
        _, hasty = await answer(provider)
        text, done = await answer(provider, request(profile=DELIBERATE))
    assert (hasty.message.thinking, text) == ("", WORDS)
    assert bool(done.message.thinking) is (name in thinks)


@pytest.mark.parametrize("name", IMITATIONS)
async def test_a_request_that_is_too_long_overflows(name: str) -> None:
    async with StubServer(IMITATIONS[name]) as stub, asking(stub, name) as provider:
        _, error = await failing(provider.stream(request(user("word " * 40_000)), "m"))
    assert isinstance(error, ContextOverflow)
    assert error.window in (None, IMITATIONS[name].window)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, ""),
        ({"type": "string", "minLength": 2}, "xx"),
        ({"type": ["integer", "null"], "minimum": 4}, 4),
        ({"type": "number"}, 0),
        ({"type": "boolean"}, False),
        ({"type": "null"}, None),
        ({"const": 7}, 7),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, False),
        ({"type": "array", "items": {"$ref": "#/$defs/x"}, "minItems": 2, "$defs": {"x": {"enum": ["a"]}}}, ["a", "a"]),
        ({"properties": {"a": {"type": "object"}, "b": {}}, "required": ["a"]}, {"a": {}}),
    ],
)
def test_the_smallest_instance_fits(schema: dict[str, Any], value: object) -> None:
    assert smallest_instance(schema) == value
