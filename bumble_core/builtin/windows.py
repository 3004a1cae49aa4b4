"""Know how much a model can hold, before it is asked."""

from __future__ import annotations

from collections.abc import Mapping

from ..chat import TokenEstimate
from ..ports import Provider
from ..types.inference import ModelRef, Request
from ..window_share import FITS_ANYWHERE, needed
from .endpoints import EndpointMemory, endpoint_key
from .names import listed


class Windows:
    """What the configuration says counts first, then what the provider lists, then what an overflow told.

    A list is asked for once per provider and process; what it says of a model is kept for when it says nothing.
    """

    def __init__(self, configured: Mapping[str, int], memory: EndpointMemory) -> None:
        self._configured, self._memory = configured, memory
        self._estimate = TokenEstimate()
        self._listed: dict[str, dict[str, int]] = {}

    async def too_small(self, ref: ModelRef, provider: Provider, request: Request) -> tuple[int, int] | None:
        """Return the window and what `request` needs, its reply included; None when it fits or nobody knows."""
        asked, longest = self._estimate(request), request.profile.max_tokens
        window = await self.of(ref, provider, may_list=asked > FITS_ANYWHERE)
        if window is None or window >= needed(window, asked, longest):
            return None
        return window, needed(window, asked, longest)

    async def learn(self, ref: ModelRef, provider: Provider, window: int) -> None:
        """Remember the window that an overflow error named."""
        await self._memory.keep(endpoint_key(provider, ref), overflow_window=window)

    async def of(self, ref: ModelRef, provider: Provider, *, may_list: bool) -> int | None:
        """Return how many tokens a model holds; None when nobody has said."""
        configured = self._configured.get(str(ref), self._configured.get(ref.model))
        if configured is not None:
            return configured
        key = endpoint_key(provider, ref)
        if may_list and provider.name not in self._listed:
            infos = await listed(provider)
            self._listed[provider.name] = {info.ref.model: info.context_window for info in infos if info.context_window}
        if (window := self._listed.get(provider.name, {}).get(ref.model)) is not None:
            await self._memory.keep(key, listed_window=window)
        known = await self._memory.of(key)
        return known.listed_window or known.overflow_window
