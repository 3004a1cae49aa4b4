"""Run the configured phases and hold every one of them to the laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import structlog

from ..compaction import Change, broken_law, report
from ..contract import FAULTS
from ..errors import ContextOverflow
from ..ports import Phase, TokenCounter
from ..types.compaction import CompactionState, PhaseReport

log = structlog.get_logger(__name__)

_IDLE_PASSES = 2
_LEAST_SHARE = 10  # a pass saves at least a tenth of what has to be read anew, or it is not worth making


class PhasedCompactor:
    """A phase that raises or breaks a law is undone; the conversation is never worse off."""

    def __init__(self, phases: Sequence[Phase], counter: TokenCounter, max_passes: int) -> None:
        self._phases, self._counter, self._max_passes = tuple(phases), counter, max_passes

    async def compact(self, state: CompactionState) -> CompactionState:
        """Go through the phases until the request fits; two passes in a row that free nothing are the last.

        A phase whose own request does not fit a window is not run again.
        """
        idle, phases = 0, list(self._phases)
        for number in range(self._max_passes):
            before = state = replace(state, pass_number=number)
            for phase in tuple(phases):
                state, may_help = await self._step(phase, state)
                if not may_help:
                    phases.remove(phase)
            if self._is_waste(before, state):
                return self._undone(before, state)
            idle = 0 if state.tokens < before.tokens else idle + 1
            if state.fits or idle >= _IDLE_PASSES:
                break
        return state

    async def _step(self, phase: Phase, state: CompactionState) -> tuple[CompactionState, bool]:
        """Return the state after a phase, and whether it is worth to run that again.

        Of what a phase returns, messages and bounds count; it cannot change what it is measured by.
        """
        try:
            found = await phase.run(state)
            messages, bounds = found.messages, found.bounds
            change = Change.between(state.messages, messages)
            problem = None if messages is state.messages else broken_law(state, messages, change)
        except FAULTS as error:
            may_help = not isinstance(error, ContextOverflow)
            return self._without(phase, state, f"{type(error).__name__}: {error}"), may_help
        if problem is not None:
            return self._without(phase, state, problem), True
        if messages is state.messages:
            kept, tokens = state, state.tokens
        else:
            tokens = state.overhead + self._counter.count(messages, (), state.models[0])
            kept = state.with_messages(messages, tokens)
        if tokens > state.tokens:
            return self._without(phase, state, f"grew from {state.tokens} to {tokens} tokens"), True
        done = report(phase.name, state, change, tokens)
        return replace(kept, bounds=bounds, reports=(*state.reports, done)), True

    def _without(self, phase: Phase, state: CompactionState, problem: str) -> CompactionState:
        log.warning("compaction.phase_undone", phase=phase.name, problem=problem)
        undone = PhaseReport(
            phase=phase.name, tokens_before=state.tokens, tokens_after=state.tokens, kept=False, note=problem
        )
        return replace(state, reports=(*state.reports, undone))

    def _is_waste(self, before: CompactionState, after: CompactionState) -> bool:
        """Tell whether a server would have to read more anew than ten times what was saved, without need."""
        saved = before.tokens - after.tokens
        if before.cause != "threshold" or before.is_pressing or after.messages is before.messages:
            return False
        start = Change.between(before.messages, after.messages).start
        lost = self._counter.count(after.messages[start:], (), after.models[0])
        return saved * _LEAST_SHARE < lost

    def _undone(self, before: CompactionState, after: CompactionState) -> CompactionState:
        saved = before.tokens - after.tokens
        note = f"would save {saved} tokens and have most of the history read anew"
        waste = PhaseReport(
            phase="pass", tokens_before=before.tokens, tokens_after=before.tokens, kept=False, note=note
        )
        return replace(before, reports=(*after.reports, waste))
