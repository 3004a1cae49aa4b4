"""Make room: return a request that fits its window, compacting the view where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from .compaction import broken_law, cut_to_fit
from .contract import kept
from .errors import ContextOverflow
from .ports import Compactor, Emit, TokenCounter
from .prompt import Prompt, build
from .types.compaction import CompactionState
from .types.events import Compacted
from .types.inference import Request, ToolSpec
from .types.messages import Message
from .types.settings import Cognition
from .types.turn import TurnContext

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Checks before every model call, inside the tool loop too."""

    prompt: Prompt
    tools: tuple[ToolSpec, ...]
    counter: TokenCounter
    compactor: Compactor
    settings: Cognition
    emit: Emit

    async def fitted(self, turn: TurnContext, window: int | None = None) -> tuple[TurnContext, Request, int]:
        """Return the turn, the request for its next step and the request's estimated tokens.

        `window`, in tokens, is what a server named in an overflow error; None means the configured one.

        Raises:
            ContextOverflow: even what must stay does not fit.
        """
        size = window or self.settings.max_context_tokens
        limit = int(size * self.settings.history_compression.compaction_threshold_ratio)
        request, tokens = self._built(turn)
        if tokens < limit:
            return turn, request, tokens
        turn = await self.prompt.recompiled(await self._compacted(turn, tokens, limit))
        request, tokens = self._built(turn)
        if tokens >= size:
            raise ContextOverflow(f"what must stay needs some {tokens} tokens and the window holds {size}", size)
        return turn, request, tokens

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
        except Exception as error:
            log.warning("compaction.failed", compactor=type(self.compactor).__name__, error=repr(error))
            return state
        if (problem := broken_law(state, after.messages)) is not None:
            log.warning("compaction.undone", problem=problem)
            return state
        tokens = state.overhead + self.counter.count(after.messages, (), state.models[0])
        return after.with_messages(after.messages, tokens)
