"""Reflex and deliberate turn the knobs of each server, and what one refuses is remembered in the home."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bumble_ollama import OllamaConfig, OllamaPlugin
from bumble_ollama.requests import encode_fields
from bumble_openai import OpenAIConfig, OpenAIPlugin
from bumble_openai.dialects import Dialect
from bumble_openai.thinking import Knob

from bumble_core.builtin.system import SystemFiles
from bumble_core.http import Learned
from bumble_core.ports import Provider
from bumble_core.testing.stub_replies import json_reply, ndjson_reply, ollama_stream, openai_stream, sse_reply
from bumble_core.testing.stub_server import StubServer
from bumble_core.types.inference import Profile, Request
from bumble_core.types.messages import assistant
from tests.http.asking import READ_NOTE, answer, closed_after, request
from tests.http.clocks import StillClock

REFLEX = Profile(name="reflex", max_tokens=100)
DELIBERATE = Profile(name="deliberate", max_tokens=400, thinking=True)
OFFICIAL, ROUTER = "api.openai.com", "openrouter.ai"
SAID = assistant("Hello.")


def sent(host: str, model: str, knob: Knob, asked: Request, learned: tuple[str, ...] = ()) -> tuple[Any, Any, Any]:
    """Return effort, switch and limit of the body for `asked`."""
    body = Dialect(host, knob).fields(asked, model, learned)
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    return body.get("reasoning_effort"), body.get("chat_template_kwargs"), limit


@pytest.mark.parametrize(
    ("host", "model", "knob", "reflex", "deliberate"),
    [
        (OFFICIAL, "gpt-4o", "auto", (None, None, 100), (None, None, 400)),
        (OFFICIAL, "gpt-5-chat-latest", "auto", (None, None, 100), (None, None, 400)),
        (OFFICIAL, "o3", "auto", ("low", None, 2148), ("medium", None, 8592)),
        (OFFICIAL, "ft:o4-mini:me", "auto", ("low", None, 2148), ("medium", None, 8592)),
        (OFFICIAL, "gpt-5-mini", "auto", ("low", None, 2148), ("medium", None, 8592)),
        (OFFICIAL, "gpt-5.1", "auto", ("none", None, 100), ("medium", None, 8592)),
        (OFFICIAL, "gpt-6-luna", "auto", ("none", None, 100), ("medium", None, 8592)),
        (ROUTER, "qwen/qwen3-8b", "auto", ("none", None, 100), ("medium", None, 8592)),
        (ROUTER, "openai/o3", "auto", ("low", None, 2148), ("medium", None, 8592)),
        ("127.0.0.1", "o3", "auto", (None, {"enable_thinking": False}, 100), (None, {"enable_thinking": True}, 400)),
        ("127.0.0.1", "m", "reasoning_effort", ("none", None, 100), ("medium", None, 8592)),
        (OFFICIAL, "m", "chat_template_kwargs", (None, {"enable_thinking": False}, 100),
         (None, {"enable_thinking": True}, 400)),
        ("127.0.0.1", "m", "off", (None, None, 100), (None, None, 400)),
    ],
    ids=["no-reasoner", "chat", "o", "tuned-o", "gpt-5", "gpt-5.1", "gpt-6", "router", "router-o", "own-server",
         "effort-asked-for", "switch-asked-for", "off"],
)  # fmt: skip
def test_a_profile_sets_thinking_and_budget(host: str, model: str, knob: Knob, reflex: Any, deliberate: Any) -> None:
    assert sent(host, model, knob, request(profile=REFLEX)) == reflex
    assert sent(host, model, knob, request(profile=DELIBERATE)) == deliberate


def test_reasoning_that_excludes_tools_is_done_without_only_where_there_are_tools() -> None:
    with_tools, without = request(profile=DELIBERATE, tools=(READ_NOTE,)), request(profile=DELIBERATE)
    assert sent(OFFICIAL, "gpt-6-luna", "auto", with_tools, ("unreasoned",)) == ("none", None, 400)
    assert sent(OFFICIAL, "gpt-6-luna", "auto", without, ("unreasoned",))[0] == "medium"


@pytest.mark.parametrize(("model", "think"), [("qwen3:8b", [False, True]), ("gpt-oss:20b", ["low", "medium"])])
def test_ollama_is_told_to_think_or_not(model: str, think: list[Any]) -> None:
    asked = [request(profile=profile) for profile in (REFLEX, DELIBERATE)]
    assert [encode_fields(each, model)["think"] for each in asked] == think


def provider(kind: str, stub: StubServer, home: Path, **config: Any) -> Provider:
    config = {"base_url": f"{stub.url}/v1", **config}
    given: dict[str, Any] = {"home": home, "files": SystemFiles(), "clock": StillClock()}
    if kind == "openai":
        return OpenAIPlugin(OpenAIConfig.model_validate(config)).bumble_providers(**given)[0]
    return OllamaPlugin(OllamaConfig.model_validate(config)).bumble_providers(**given)[0]


REFUSALS = {
    "openai": ("openai", {}, "Unrecognized request argument supplied: chat_template_kwargs", "chat_template_kwargs"),
    "mistral": (
        "openai",
        {},
        [{"type": "extra_forbidden", "loc": ["body", "chat_template_kwargs"], "msg": "Extra inputs are not permitted"}],
        "chat_template_kwargs",
    ),
    "groq": ("openai", {}, "property 'chat_template_kwargs' is unsupported", "chat_template_kwargs"),
    "litellm": (
        "openai",
        {"thinking": "reasoning_effort"},
        "litellm.UnsupportedParamsError: openai does not support parameters: ['reasoning_effort'], for model=m.",
        "reasoning_effort",
    ),
    "ollama": ("ollama", {}, '"m" does not support thinking', "think"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_a_refused_knob_is_left_out_once_and_remembered_by_the_next_start(name: str, tmp_path: Path) -> None:
    kind, config, words, knob = REFUSALS[name]
    shape = {"detail": words} if isinstance(words, list) else {"error": {"message": words}}
    said = sse_reply(openai_stream(SAID)) if kind == "openai" else ndjson_reply(ollama_stream(SAID))
    async with StubServer([json_reply(shape, status=422 if isinstance(words, list) else 400), said]) as stub:
        for _ in range(2):
            async with closed_after(provider(kind, stub, tmp_path, **config)) as asked:
                await answer(asked)
    assert [knob in each.json for each in stub.requests] == [True, False, False]


async def test_an_effort_that_must_not_be_none_becomes_low() -> None:
    words = "Reasoning is mandatory for this endpoint and cannot be disabled."
    async with (
        StubServer([json_reply({"error": {"message": words}}, status=400), sse_reply(openai_stream(SAID))]) as stub,
        closed_after(provider("openai", stub, Path("no-home"), thinking="reasoning_effort")) as asked,
    ):
        await answer(asked)
    assert [each.json["reasoning_effort"] for each in stub.requests] == ["none", "low"]


async def test_what_two_providers_learn_is_kept_side_by_side(tmp_path: Path) -> None:
    one, other = Learned(tmp_path, SystemFiles()), Learned(tmp_path, SystemFiles())
    await one.add("http://a", "m", "x")
    await other.add("http://a", "m", "y")
    await other.add("http://b", "m", "z")
    again = Learned(tmp_path, SystemFiles())
    assert (await again.of("http://a", "m"), await again.of("http://b", "m")) == (("x", "y"), ("z",))


@pytest.mark.parametrize("text", ["", "{oops", "[1]", '{"http://a": {"m": 7}}'])
async def test_a_file_that_cannot_be_read_is_learned_again(text: str, tmp_path: Path) -> None:
    (tmp_path / "knobs.json").write_text(text)
    learned = Learned(tmp_path, SystemFiles())
    assert await learned.of("http://a", "m") == ()
    await learned.add("http://a", "m", "x")
    assert await Learned(tmp_path, SystemFiles()).of("http://a", "m") == ("x",)


async def test_what_is_learned_without_a_home_lasts_as_long_as_the_provider(tmp_path: Path) -> None:
    learned = Learned(tmp_path / "none", SystemFiles())
    await learned.add("http://a", "m", "x")
    assert await learned.of("http://a", "m") == ("x",)
    assert list(tmp_path.iterdir()) == []
