"""Ask every provider at once which models it has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from ..contract import FAULTS
from ..errors import InferenceError
from ..ports import Provider
from ..types.inference import ModelInfo

WAIT_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What one provider said. `problem` says why it gave no answer; `error` is what it raised on purpose."""

    provider: str
    models: tuple[ModelInfo, ...] = ()
    problem: str = ""
    error: InferenceError | None = None


async def list_models(providers: Mapping[str, Provider], wait_s: float = WAIT_S) -> tuple[Listed, ...]:
    """Return each provider's answer in the order of the providers; one that fails does not hold up the others."""
    return tuple(await asyncio.gather(*(_listed(name, provider, wait_s) for name, provider in providers.items())))


async def _listed(name: str, provider: Provider, wait_s: float) -> Listed:
    try:
        async with asyncio.timeout(wait_s):
            return Listed(provider=name, models=await provider.models())
    except TimeoutError:
        return Listed(provider=name, problem=f"no answer within {wait_s:g} s")
    except InferenceError as error:
        return Listed(provider=name, problem=str(error), error=error)
    except FAULTS as error:  # a provider may be anyone's; the others are still worth listing
        return Listed(provider=name, problem=f"{type(error).__name__}: {error}")
