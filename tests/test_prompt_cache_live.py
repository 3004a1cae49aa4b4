"""A session with tools on a real server: only what is new, and the tail, is processed."""

from __future__ import annotations

import pytest

from benchmarks.prompt_cache import measure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

_TEMPLATE_TOKENS = 12  # of one request: what the model's template puts around new messages, and the last token again


async def test_llama_cpp_takes_everything_but_new_messages_and_the_tail_from_its_cache() -> None:
    found = await measure(turns=2)
    assert (found.requests, found.system_prompts) == (4, 1)
    assert found.processed <= found.due + found.requests * _TEMPLATE_TOKENS
    assert found.cached >= 3 * 250  # at least the system prompt and the tools, each time after the first
