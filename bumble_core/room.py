"""Make room: return a request that fits its window, compacting the view where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from .compaction import broken_law, cut_to_fit
from .contract import FAULTS, kept
from .errors import ContextOverflow
from .ports import Compactor, Emit, Sizing, TokenCounter
from .prompt import Prompt, build
from .types.compaction import CompactionState
from .types.events import Compacted, Routed
from .types.inference import Request, ToolSpec
from .types.messages import Message
from .types.settings import Cognition
from .types.turn import TurnContext

log = structlog.get_logger(__name__)

_FITS_ANYWHERE = 4_096  # tokens; for so few no provider is asked what it lists, which takes a request more


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Checks before every model call, inside the tool loop too."""

    prompt: Prompt
    tools: tuple[ToolSpec, ...]
    counter: TokenCounter
    compactor: Compactor
    settings: Cognition
    emit: Emit
    sizing: Sizing | None = None

    async def fitted(self, turn: TurnContext, window: int | None = None) -> tuple[TurnContext, Request, int]:
        """Return the turn, the request for its next step and the request's estimated tokens.

        Models that cannot hold it are left out of the route; where none can, the view is compacted for the first.
        `window`, in tokens, is what a server named in an overflow error; None means the configured one or the
        model's, whichever is smaller.

        Raises:
            ContextOverflow: even what must stay does not fit.
        """
        request, tokens = self._built(turn)
        if window is None and self.sizing is not None:
            turn, window = await self._routed(turn, tokens, self.sizing)
            request = request.model_copy(update={"models": turn.route.models})
        size = min(window or self.settings.max_context_tokens, self.settings.max_context_tokens)
        limit = int(size * self.settings.history_compression.compaction_threshold_ratio)
        if tokens < limit:
            return turn, request, tokens
        turn = await self.prompt.recompiled(await self._compacted(turn, tokens, limit))
        request, tokens = self._built(turn)
        if tokens >= size:
            raise ContextOverflow(f"what must stay needs some {tokens} tokens and the window holds {size}", size)
        return turn, request, tokens

    async def _routed(self, turn: TurnContext, tokens: int, sizing: Sizing) -> tuple[TurnContext, int | None]:
        """Return the turn with the models that hold `tokens` and a reply, and the window of the first of them."""
        route, longest = turn.route, turn.route.profile.max_tokens
        windows = [await sizing.window_of(ref, may_list=tokens > _FITS_ANYWHERE) for ref in route.models]
        known = list(zip(route.models, windows, strict=True))
        holding = [(ref, size) for ref, size in known if size is None or size >= tokens + min(longest, size // 4)]
        if not holding or len(holding) == len(known):
            return turn, windows[0]
        left_out = tuple(ref for ref in route.models if ref not in [held for held, _ in holding])
        models = tuple(ref for ref, _ in holding)
        route = route.model_copy(update={"models": models, "too_small": (*route.too_small, *left_out)})
        log.info("route.refitted", tokens=tokens, left_out=[str(ref) for ref in left_out])
        self.emit(Routed(turn.input.id, route))
        return replace(turn, route=route), holding[0][1]

    def _built(self, turn: TurnContext) -> tuple[Request, int]:
        request = build(turn, self.tools, tool_choice=self.settings.tool_choice)
        return request, self.counter.count(request.messages, request.tools, request.models[0])

    async def _compacted(self, turn: TurnContext, tokens: int, limit: int) -> TurnContext:
        view_tokens = self.counter.count(turn.view, (), turn.route.models[0])
        originals: Mapping[str, Message] = {message.id: message for message in turn.log}
        state = CompactionState(
            owner=turn.input.id,
            models=turn.route.models,
            messages=turn.view,
            tokens=tokens,
            overhead=max(0, tokens - view_tokens),
            limit=limit,
            target=int(limit * self.settings.history_compression.compaction_target_ratio),
            keep=frozenset({turn.input.message.id}),
            originals=originals,
        )
        after = await self._phases(state)
        if not after.fits:
            after = cut_to_fit(after, self.counter)
        self.emit(Compacted(turn.input.id, tokens, after.tokens, after.reports))
        return turn.refitted(after.messages)

    async def _phases(self, state: CompactionState) -> CompactionState:
        if not self.settings.history_compression.enabled:
            return state
        try:
            after = kept(await self.compactor.compact(state), CompactionState, "the compactor")
        except FAULTS as error:
            log.warning("compaction.failed", compactor=type(self.compactor).__name__, error=repr(error))
            return state
        if (problem := broken_law(state, after.messages)) is not None:
            log.warning("compaction.undone", problem=problem)
            return state
        tokens = state.overhead + self.counter.count(after.messages, (), state.models[0])
        return after.with_messages(after.messages, tokens)
