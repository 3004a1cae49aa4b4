"""Make room: return a request that fits its window, compacting the view where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import structlog

from .account import Account
from .compaction import broken_law
from .contract import FAULTS, kept
from .cutting import cut_to_fit
from .errors import ContextOverflow
from .ports import Compactor, Emit, Sessions, Sizing, TokenCounter
from .prompt import Prompt, build
from .types.compaction import Compaction, CompactionCause, CompactionState, PhaseReport
from .types.events import Compacted, Routed
from .types.inference import Request, ToolSpec
from .types.messages import Message
from .types.settings import Cognition
from .types.turn import TurnContext
from .window_share import FITS_ANYWHERE, needed

log = structlog.get_logger(__name__)

_SHARE_OF_REPLY = 4  # a quarter of the window is enough for a reply, however long it may be
_SHARE_OF_ERROR = 16  # of the window: an estimate may be so far off though it was corrected by the step before
_PURPOSE = "compact"
_GROWTH = 1.1  # a view that could not be compacted is tried again when it is so much larger


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A turn and the request for its next step, of about `tokens` tokens, for a window of `window`."""

    turn: TurnContext
    request: Request
    tokens: int
    window: int

    def check(self) -> None:
        """Refuse a request that does not fit.

        Raises:
            ContextOverflow: even what must stay does not fit; the message says why no phase could help.
        """
        if self.tokens < self.window:
            return
        problems = self.turn.compactions[-1].problems if self.turn.compactions else ()
        why = "".join(f"; {problem}" for problem in problems)
        raise ContextOverflow(
            f"what must stay needs some {self.tokens} tokens and the window holds {self.window}{why}", self.window
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Checks before every model call, inside the tool loop too. `account` is the turn's."""

    prompt: Prompt
    tools: tuple[ToolSpec, ...]
    counter: TokenCounter
    compactor: Compactor
    sessions: Sessions
    settings: Cognition
    emit: Emit
    account: Account = field(default_factory=Account)
    sizing: Sizing | None = None

    async def fitted(self, turn: TurnContext, window: int | None = None) -> Fitted:
        """Return the turn and the request for its next step, which may still not fit: `check` it.

        Models that cannot hold it are left out of the route; where none can, the view is compacted for the first.
        `window`, in tokens, is what a server named in an overflow error; None means the configured one or the
        model's, whichever is smaller.
        """
        cause: CompactionCause = "threshold" if window is None else "overflow"
        request, tokens = self._built(turn)
        if window is None and self.sizing is not None:
            turn, window = await self._routed(turn, tokens, self.sizing)
            request = request.model_copy(update={"models": turn.route.models})
        state = self._state(turn, tokens, window, cause)
        if not state.fits and not _is_hopeless(turn, state):
            turn = await self.prompt.recompiled(await self._compacted(turn, state))
            request, tokens = self._built(turn)
        return Fitted(turn=turn, request=request, tokens=tokens, window=state.window)

    async def shortened(self, turn: TurnContext, focus: str) -> TurnContext:
        """Return the turn with its view compacted because the user asked for it."""
        _, tokens = self._built(turn)
        return await self._compacted(turn, replace(self._state(turn, tokens, None, "asked"), focus=focus))

    async def _routed(self, turn: TurnContext, tokens: int, sizing: Sizing) -> tuple[TurnContext, int | None]:
        """Return the turn with the models that hold `tokens` and a reply, and the window of the first of them."""
        route, longest = turn.route, turn.route.profile.max_tokens
        windows = [await sizing.window_of(ref, may_list=tokens > FITS_ANYWHERE) for ref in route.models]
        known = list(zip(route.models, windows, strict=True))
        holding = [(ref, size) for ref, size in known if size is None or size >= needed(size, tokens, longest)]
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

    def _state(self, turn: TurnContext, tokens: int, window: int | None, cause: CompactionCause) -> CompactionState:
        largest, compression = self.settings.max_context_tokens, self.settings.history_compression
        size = min(window or largest, largest)
        limit = int(size * compression.compaction_threshold_ratio)
        full = min(limit, tokens) if cause == "asked" else limit  # who asks may be far below the limit
        reply = min(turn.route.profile.max_tokens, size // _SHARE_OF_REPLY)
        return CompactionState(
            owner=turn.input.id,
            session=turn.input.session_id,
            models=turn.route.models,
            messages=turn.view,
            tokens=tokens,
            limit=limit,
            target=int(full * compression.compaction_target_ratio),
            window=size,
            ceiling=size - reply - size // _SHARE_OF_ERROR,
            cause=cause,
            keep=frozenset({turn.input.message.id}),
        )

    async def _compacted(self, turn: TurnContext, state: CompactionState) -> TurnContext:
        view_tokens = self.counter.count(turn.view, (), turn.route.models[0])
        overhead = max(0, state.tokens - view_tokens)  # 0 where neighbours are sent as one message
        tokens = overhead + view_tokens
        state = replace(state, overhead=overhead, tokens=tokens, originals=await self._originals(turn))
        calls, spent = self.account.calls[_PURPOSE], self.account.spent.get(_PURPOSE)
        after = await self._phases(state)
        if after.is_pressing or (not after.fits and state.cause == "overflow"):
            after = cut_to_fit(after, self.counter, self.settings.history_compression.compaction_protect_first_n)
        _, took = self.account.since(calls, spent, _PURPOSE)
        done = Compaction(
            cause=state.cause,
            focus=state.focus,
            tokens_before=state.tokens,
            tokens_after=after.tokens,
            messages_before=len(state.messages),
            messages_after=len(after.messages),
            reports=after.reports,
            spent=took,
        )
        self.emit(Compacted(turn.input.id, state.tokens, after.tokens, after.reports, done.spent))
        return turn.refitted(after.messages, done)

    async def _originals(self, turn: TurnContext) -> Mapping[str, Message]:
        """Return the log's text of the results in the view: they are what phases shorten."""
        own = {message.id: message for message in turn.log}
        earlier = [message.id for message in turn.view if message.role == "tool" and message.id not in own]
        found = await self.sessions.originals(turn.input.session_id, earlier) if earlier else {}
        return {**found, **own}

    async def _phases(self, state: CompactionState) -> CompactionState:
        if not self.settings.history_compression.enabled:
            return state
        try:
            after = kept(await self.compactor.compact(state), CompactionState, "the compactor")
        except FAULTS as error:
            log.warning("compaction.failed", compactor=type(self.compactor).__name__, error=repr(error))
            return _undone(state, f"{type(error).__name__}: {error}")
        if after.messages is state.messages:
            return replace(state, reports=after.reports)
        problem = broken_law(state, after.messages)
        tokens = state.overhead + self.counter.count(after.messages, (), state.models[0])
        if problem is None and tokens > state.tokens:
            problem = f"grew from {state.tokens} to {tokens} tokens"
        if problem is not None:
            log.warning("compaction.undone", problem=problem)
            return _undone(state, problem)
        return replace(state.with_messages(after.messages, tokens), reports=after.reports)


def _undone(state: CompactionState, problem: str) -> CompactionState:
    done = PhaseReport(
        phase="compactor", tokens_before=state.tokens, tokens_after=state.tokens, kept=False, note=problem
    )
    return replace(state, reports=(*state.reports, done))


def _is_hopeless(turn: TurnContext, state: CompactionState) -> bool:
    """Tell whether this turn has tried already, in vain, and the window is not at stake yet."""
    if not turn.compactions or state.cause != "threshold" or state.is_pressing:
        return False
    last = turn.compactions[-1]
    return last.freed * 10 < last.tokens_before and state.tokens < last.tokens_after * _GROWTH
