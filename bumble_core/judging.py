"""Ask whether a turn may end: what the kernel holds around whoever fills the judge's slot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import structlog

from .account import Account
from .circles import goes_in_circles
from .contract import FAULTS, kept
from .ports import Emit, Judge
from .types.events import Judged
from .types.gate import Gate
from .types.turn import TurnContext, Verdict

log = structlog.get_logger(__name__)

_PURPOSE = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One turn's way to its judge: bounded in push-backs and in time, every verdict with what it cost."""

    judge: Judge
    settings: Gate
    account: Account
    emit: Emit

    async def judged(self, turn: TurnContext) -> TurnContext:
        """Return the turn with one more verdict.

        A step of `say` alone is no wish to end: without a judge's word the turn goes on once, and its no is not
        counted.
        """
        calls, before = self.account.calls[_PURPOSE], self.account.spent.get(_PURPOSE)
        verdict = self._ruled(turn) or await self._asked(turn)
        new, spent = self.account.since(calls, before, _PURPOSE)
        on = "say" if turn.said_in_a_row else "end_turn" if turn.end_requested else "words"
        verdict = verdict.model_copy(update={"on": on, "calls": new, "spent": spent})
        self.emit(Judged(turn.input.id, verdict))
        return turn.judged(verdict)

    def _ruled(self, turn: TurnContext) -> Verdict | None:
        """Return what needs no judge: a reply that goes in circles, a gate that is off, push-backs that are used up."""
        if turn.is_unfinished and goes_in_circles(turn.reply):
            reason = "the reply was cut while it said the same again and again"
            return Verdict(done=True, decided_by="kernel", reason=reason)
        if turn.input.gate == "off":
            return Verdict(done=turn.said_in_a_row != 1, decided_by="kernel", reason="the gate is off")
        is_used_up = turn.pushbacks >= turn.limits.max_pushbacks
        if is_used_up and turn.visible_text and not turn.said_in_a_row:
            return Verdict(done=True, decided_by="kernel", reason="the judge's push-backs are used up")
        return None

    async def _asked(self, turn: TurnContext) -> Verdict:
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                return kept(await self.judge.judge(turn), Verdict, "the judge")
        except TimeoutError:
            return self._failed(turn, f"no verdict within {self.settings.timeout_s:g} s")
        except FAULTS as error:
            return self._failed(turn, str(error) or type(error).__name__)

    def _failed(self, turn: TurnContext, problem: str) -> Verdict:
        log.warning("judge.failed", judge=type(self.judge).__name__, error=problem)
        return Verdict(
            done=self.settings.on_error == "accept" and turn.said_in_a_row != 1,
            decided_by="kernel",
            reason=f"the judge failed: {problem}; gate.on_error is `{self.settings.on_error}`",
            nudge="What you said could not be checked. Do what is left to do, and tell the user the outcome.",
            problem=problem,
        )
