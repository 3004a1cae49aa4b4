"""Find a model when the configuration names none: the first provider that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

import structlog

from ..contract import FAULTS
from ..ports import Provider
from ..types.inference import ModelInfo, ModelRef

ADVICE: Final = """no model is configured and none was found. Any one of these gets one:
  set OPENAI_API_KEY to a key for OpenAI or a compatible server
  start Ollama (https://ollama.com) and run: ollama pull qwen3
  run a small model right here: pip install 'bumble-core[local]' && bumble models pull smollm2
`bumble doctor` says why none answers."""

_FIRST = ("openai", "ollama", "local")
_WAIT_S = 2.0

log = structlog.get_logger(__name__)


async def first_model(providers: Mapping[str, Provider], wait_s: float = _WAIT_S) -> ModelRef | None:
    """Return the default model, else the first, of the first provider that has one ready.

    All are asked at once and have `wait_s` to answer; the order is `openai`, `ollama`, `local`, then the others as
    they come. None when no provider has a model.
    """
    order = [name for name in _FIRST if name in providers] + [name for name in providers if name not in _FIRST]
    asked = [(name, asyncio.create_task(_models(providers[name], wait_s))) for name in order]
    try:
        for name, task in asked:
            if models := await task:
                chosen = next((model for model in models if model.is_default), models[0])
                return ModelRef(provider=name, model=chosen.ref.model)
    finally:
        for _, task in asked:
            task.cancel()
        await asyncio.gather(*(task for _, task in asked), return_exceptions=True)
    return None


async def _models(provider: Provider, wait_s: float) -> tuple[ModelInfo, ...]:
    try:
        async with asyncio.timeout(wait_s):
            return tuple(model for model in await provider.models() if model.is_ready)
    except FAULTS as error:  # anyone's provider may fail here without harm: another one is asked
        log.debug("first_model.not_answered", provider=provider.name, problem=f"{type(error).__name__}: {error}")
        return ()
