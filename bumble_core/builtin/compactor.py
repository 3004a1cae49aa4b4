"""Run the configured phases and hold every one of them to the laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from ..compaction import broken_law
from ..contract import FAULTS
from ..ports import Phase, TokenCounter
from ..types.compaction import CompactionState, PhaseReport

log = structlog.get_logger(__name__)


class PhasedCompactor:
    """A phase that raises or breaks a law is undone; the conversation is never worse off."""

    def __init__(self, phases: Sequence[Phase], counter: TokenCounter, max_passes: int) -> None:
        self._phases, self._counter, self._max_passes = tuple(phases), counter, max_passes

    async def compact(self, state: CompactionState) -> CompactionState:
        """Go through the phases until the request fits; a pass that frees nothing is the last."""
        for number in range(self._max_passes):
            before, state = state.tokens, replace(state, pass_number=number)
            for phase in self._phases:
                state = await self._step(phase, state)
            if state.fits or state.tokens >= before:
                break
        return state

    async def _step(self, phase: Phase, state: CompactionState) -> CompactionState:
        candidate, tokens, problem = state, state.tokens, None
        try:
            candidate = await phase.run(state)
            problem = broken_law(state, candidate.messages)
        except FAULTS as error:
            problem = repr(error)
        if problem is None and candidate.messages is not state.messages:
            tokens = state.overhead + self._counter.count(candidate.messages, (), state.models[0])
            if tokens > state.tokens:
                problem = f"grew from {state.tokens} to {tokens} tokens"
        if problem is not None:
            log.warning("compaction.phase_undone", phase=phase.name, problem=problem)
            candidate, tokens = state, state.tokens
        report = PhaseReport(
            phase=phase.name, tokens_before=state.tokens, tokens_after=tokens, kept=problem is None, note=problem or ""
        )
        return replace(candidate, tokens=tokens, reports=(*state.reports, report))
