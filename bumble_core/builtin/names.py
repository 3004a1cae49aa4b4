"""Find who runs a model: the provider that is named, or the first that lists the name."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from ..contract import FAULTS
from ..errors import ModelMissing
from ..ports import Provider
from ..types.inference import ModelInfo, ModelRef

log = structlog.get_logger(__name__)

_LIST_TIMEOUT_S = 5.0  # a provider that does not list its models in this time does not resolve a bare name


class Names:
    """Bare names are remembered as they were resolved, until the provider no longer has the model."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = providers
        self._resolved: dict[str, ModelRef] = {}

    async def resolve(self, wanted: ModelRef) -> ModelRef:
        """Return `wanted` with a provider that is installed.

        Raises:
            ModelMissing: there is no such provider, or none lists the model.
        """
        if wanted.provider is not None:
            self.provider(wanted)
            return wanted
        if wanted.model not in self._resolved:
            self._resolved[wanted.model] = await self._found(wanted.model)
        return self._resolved[wanted.model]

    def forget(self, wanted: ModelRef) -> bool:
        """Resolve a bare name again the next time; return whether there was something to forget."""
        return wanted.provider is None and self._resolved.pop(wanted.model, None) is not None

    def provider(self, ref: ModelRef) -> Provider:
        """Return the provider of a resolved name.

        Raises:
            ModelMissing: it is not installed.
        """
        name = ref.provider or ""
        if name not in self._providers:
            known = ", ".join(f"`{name}`" for name in self._providers) or "none"
            hint = f"; write `PROVIDER:{ref}` if the colon is part of the model's name" if ":" not in ref.model else ""
            raise ModelMissing(f"`{ref}`: no provider `{name}`; installed: {known}{hint}")
        return self._providers[name]

    async def _found(self, model: str) -> ModelRef:
        for name, provider in self._providers.items():
            if any(info.ref.model == model for info in await listed(provider)):
                return ModelRef(provider=name, model=model)
        raise ModelMissing(f"no provider lists `{model}`; see `bumble models`, or write `PROVIDER:MODEL`")


async def listed(provider: Provider) -> tuple[ModelInfo, ...]:
    """Return what a provider lists; nothing when it does not answer in time."""
    try:
        async with asyncio.timeout(_LIST_TIMEOUT_S):
            return await provider.models()
    except FAULTS as error:
        log.debug("provider.lists_nothing", provider=provider.name, error=f"{type(error).__name__}: {error}")
        return ()
