"""`bumble models probe`: find out how a model is brought to call tools."""

from __future__ import annotations

import asyncio

import click

from ..builtin.endpoints import EndpointMemory, LearntLevel, endpoint_key
from ..builtin.levels import Levels
from ..builtin.names import Names
from ..printable import one_line
from ..runtime import Runtime
from ..types.inference import ModelRef
from .assembled import assembled
from .options import Common, common_options
from .output import print_json, tell
from .turns import ModelName

_MEANING = {
    "native": "its server forces calls by itself",
    "schema": "calls are forced by a schema of the reply",
    "prompted": "calls are asked for in words and read in the reply",
    "text": "it holds a plain conversation and calls nothing",
}
_REASON_WIDTH = 1000


@click.command()
@click.argument("model", type=ModelName(), metavar="MODEL")
@common_options("config", "home", "json")
def probe(common: Common, model: ModelRef) -> None:
    """Find out how MODEL is brought to call tools.

    Asks it at most twice, prints the level and why, and remembers it.
    """
    ref, key, learnt = asyncio.run(_probed(common, model))
    if common.as_json:
        found = learnt.model_dump(mode="json", include={"level", "reason", "at"})
        print_json({"model": str(ref), "endpoint": key, **found})
    else:
        tell(f"{ref}: {learnt.level}: {_MEANING[learnt.level]}")
        tell(one_line(learnt.reason, _REASON_WIDTH))


async def _probed(common: Common, wanted: ModelRef) -> tuple[ModelRef, str, LearntLevel]:
    async with assembled(common, run_jobs=False) as runtime:
        return await _learnt(runtime, wanted)


async def _learnt(runtime: Runtime, wanted: ModelRef) -> tuple[ModelRef, str, LearntLevel]:
    names = Names(runtime.providers)
    ref = await names.resolve(wanted)
    provider, parts = names.provider(ref), runtime.parts
    levels = Levels(EndpointMemory(parts.home, parts.files, parts.clock), parts.clock)
    return (
        ref,
        endpoint_key(provider, ref),
        await levels.probe(ref, provider, parts.settings.cognition.max_context_tokens),
    )
