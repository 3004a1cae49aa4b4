"""The provider `local`, with the small model really running."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest
from bumble_local import LocalConfig, LocalPlugin, pull
from bumble_local.engine import Engine
from bumble_local.provider import LocalProvider

from bumble_core.errors import ContextOverflow, InvalidRequest, ModelMissing
from bumble_core.ports import Downloads, Provider
from bumble_core.types.inference import ModelRef, ToolChoice
from bumble_core.types.messages import ToolCall, ToolResult, assistant, system, tool_message, user
from tests.plugins.local_requests import LONG_PROMPT, SAY, ask, asking, running

pytestmark = pytest.mark.slow


async def test_a_conversation_is_answered_in_deltas_that_make_up_the_completion() -> None:
    async with running() as provider:
        deltas, completion = await ask(provider, asking(system("You are kind."), user("Tell me about France.")))
    assert len(deltas) > 3
    assert "".join(delta.text for delta in deltas) == completion.message.text
    assert "France" in completion.message.text
    assert completion.finish == "length"
    assert completion.model == ModelRef(provider="local", model="smollm2")


async def test_usage_counts_what_the_engine_read_wrote_and_remembered() -> None:
    async with running() as provider:
        _, first = await ask(provider, asking(user("Name three colours."), max_tokens=8))
        _, second = await ask(provider, asking(user("Name three colours."), max_tokens=8))
    assert first.finish == "length"
    assert first.usage.output_tokens == 8
    assert first.usage.input_tokens > 20
    assert not first.usage.estimated
    assert second.usage.cached_tokens == first.usage.input_tokens - 1


async def test_the_small_model_finds_an_end_where_it_would_go_in_circles() -> None:
    async with running() as provider:
        _, completion = await ask(provider, asking(user("List ten fruits."), max_tokens=700))
    assert completion.finish == "stop"


async def test_the_small_model_is_asked_no_hotter_than_it_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[Mapping[str, Any]] = []

    async def chat(engine: Engine, body: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
        bodies.append(body)
        yield {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}

    monkeypatch.setattr(Engine, "chat", chat)
    async with running() as provider:
        for temperature in (0.0, 0.7, 2.0):
            asked = asking(user("Hi"))
            hot = asked.profile.model_copy(update={"temperature": temperature})
            await ask(provider, asked.model_copy(update={"profile": hot}))
    assert [(body["temperature"], body["repeat_penalty"]) for body in bodies] == [(0.0, 1.1), (0.2, 1.1), (0.2, 1.1)]


@pytest.mark.parametrize("choice", ["auto", "required", "none"])
async def test_a_model_whose_template_knows_no_tools_still_converses(choice: ToolChoice) -> None:
    async with running() as provider:
        request = asking(user("What is the capital of France?"), tools=(SAY,), tool_choice=choice)
        _, completion = await ask(provider, request)
    assert completion.message.text.strip()
    assert not completion.message.tool_calls


async def test_a_history_with_calls_results_and_half_a_character_is_accepted() -> None:
    call = ToolCall(id="c1", name="say", arguments={"text": "Hello"})
    result = tool_message(ToolResult(call_id="c1", name="say", content="said \ud83d"))
    async with running() as provider:
        request = asking(user("Greet me."), assistant("", call), result, user("Thanks!"), tools=(SAY,))
        _, completion = await ask(provider, request)
    assert completion.message.text.strip()


async def test_requests_at_once_share_one_engine_and_each_gets_its_own_answer() -> None:
    prompts = [user(f"Write the word {word} and nothing else.") for word in ("apple", "banana")]
    async with running() as provider:
        answers = await asyncio.gather(*(ask(provider, asking(prompt)) for prompt in prompts))
        assert len(provider._engines) == 1
    assert "apple" in answers[0][1].message.text.lower()
    assert "banana" in answers[1][1].message.text.lower()


async def test_a_prompt_that_does_not_fit_says_how_much_would() -> None:
    async with running() as provider:
        with pytest.raises(ContextOverflow, match="exceeds the available context size") as caught:
            await ask(provider, asking(LONG_PROMPT, window=1100))
    assert caught.value.window == 1024


@pytest.mark.parametrize(
    ("configured", "asked", "expected"),
    [(None, 1024, 1024), (512, 2048, 512), (None, 32_768, 8192), (20_000, 1024, 8192)],
    ids=["as-asked", "as-configured", "never-more-than-trained", "configured-above-trained"],
)
async def test_the_window_that_is_reported_is_the_engines(configured: int | None, asked: int, expected: int) -> None:
    pull("smollm2")
    provider = LocalProvider(threads=1, context_tokens=configured)
    await ask(provider, asking(user("Hi"), max_tokens=1, window=asked))
    assert (await provider.models())[0].context_window == expected
    await provider.aclose()


@pytest.mark.parametrize("content", [b"", b"hello " * 900, b"GGUF\x03"], ids=["empty", "text", "header-cut"])
async def test_a_file_that_is_no_model_is_refused_by_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "wrong.gguf"
    path.write_bytes(content)
    async with running() as provider:
        with pytest.raises(InvalidRequest, match=re.escape(str(path))):
            await ask(provider, asking(user("Hi")), str(path))


async def test_a_damaged_model_is_refused_and_the_next_request_works(tmp_path: Path) -> None:
    whole = pull("smollm2")
    path = tmp_path / "half.gguf"
    with whole.open("rb") as file:
        path.write_bytes(file.read(5_000_000))
    async with running() as provider:
        with pytest.raises(InvalidRequest, match=r"cannot run .*half\.gguf: the file is damaged"):
            await ask(provider, asking(user("Hi")), str(path))
        path.unlink()
        path.symlink_to(whole)
        _, completion = await ask(provider, asking(user("Hi"), max_tokens=2), str(path))
    assert completion.usage.output_tokens == 2


async def test_a_missing_model_comes_with_the_command_that_gets_it(tmp_path: Path) -> None:
    provider = LocalProvider(models_folder=tmp_path)
    with pytest.raises(ModelMissing, match="run `bumble models pull smollm2`"):
        await ask(provider, asking(user("Hi")))
    with pytest.raises(ModelMissing, match=r"`nothing\.gguf` is neither a file in"):
        await ask(provider, asking(user("Hi")), "nothing.gguf")


def test_the_plugin_offers_a_provider_that_downloads_and_imports_no_engine() -> None:
    (provider,) = LocalPlugin(LocalConfig()).bumble_providers()
    assert isinstance(provider, Provider)
    assert isinstance(provider, Downloads)
    script = "import sys; from bumble_local import *; import bumble_local as b; b.LocalPlugin(b.LocalConfig())"
    script += ".bumble_providers(); print({'xllamacpp', 'filelock', 'httpx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "set()\n"
