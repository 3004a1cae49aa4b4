"""One turn, start to end. Read this module first.

    route, then each step: ask, act; judge when the model stops calling tools, asks to end, or only speaks.

A turn is a chain of `TurnContext` values. Whatever ends it, a model that fails, a budget that is spent, a person who
cancels, it ends with every call answered and with words for the user or a clear error.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from .acting import Hands, answer
from .circles import goes_in_circles
from .delivery import Mouth
from .errors import BudgetSpent, InferenceError
from .journal import Journal
from .judging import Bench
from .ports import Emit, Inference, Judge, Router, SignalSource, TokenCounter
from .prompt import Prompt
from .room import Room
from .routing import default_route, escalated, routed
from .steering import Steering
from .thinking import Mind
from .types.events import PromptCompiled, Routed, Steered
from .types.messages import ResultStatus, assistant, user
from .types.settings import Settings
from .types.turn import Limits, TurnContext, TurnInput

BROKEN_OFF = "[This reply broke off here and was not finished.]"
_MOST_CUTS = 4  # replies in words that are cut, in a row; a weak model does not find an end by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The chosen occupant of every slot that a turn passes through, and what was collected for it."""

    router: Router
    signals: Sequence[SignalSource]
    prompt: Prompt
    room: Room
    counter: TokenCounter
    inference: Inference
    judge: Judge


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLoop:
    """Everything that one turn needs beside its input. `steering` takes words that arrive while it runs."""

    stages: Stages
    settings: Settings
    journal: Journal
    mind: Mind
    bench: Bench
    hands: Hands
    mouth: Mouth
    emit: Emit
    steering: Steering

    async def run(self, input: TurnInput, limits: Limits) -> TurnContext:
        """Answer one message. Cancelling it gives a turn with status `cancelled`; it does not raise."""
        is_in_messages = self.mouth.speaks_in_messages
        route = default_route(input, self.settings)
        turn = TurnContext.begin(input, route, limits, speaks_in_messages=is_in_messages)
        deadline = asyncio.timeout(limits.deadline_s)
        try:
            await asyncio.sleep(0)  # what was cancelled before this point is cancelled here
            try:
                async with deadline, aclosing(self._steps(turn)) as steps:
                    async for after in steps:
                        turn = after
            except TimeoutError:
                if not deadline.expired():
                    raise
                passed = f"the turn's deadline of {limits.deadline_s:g} s passed"
                turn = await self._answered(self.journal.caught_up(turn), "timeout", passed)
                turn = turn.ended("capped", f"no end within {limits.deadline_s:g} s")
            except BudgetSpent as error:
                turn = self.journal.caught_up(turn).ended("capped", str(error))
            except InferenceError as error:
                await self.mouth.withdraw(turn)
                turn = await self._broken_off(self.journal.caught_up(turn), error.partial)
                return turn.ended("failed", str(error))
            return await self._close(turn)
        except asyncio.CancelledError:
            return await self._cancelled(self.journal.caught_up(turn))

    async def _steps(self, turn: TurnContext) -> AsyncGenerator[TurnContext, None]:
        """Yield the turn after everything that happens to it; the last one says how it ended."""
        turn = await routed(turn, self.stages.router, self.stages.signals, self.settings)
        self.emit(Routed(turn.input.id, turn.route))
        turn = await self.stages.prompt.compiled(turn)
        self.emit(PromptCompiled(turn.input.id, turn.prompt.fingerprint, turn.prompt.rendered))
        while turn.steps_left > 0:
            turn = await self._steer(self._escalated(turn))
            yield turn
            async with aclosing(self.mind.ask(turn)) as asked:
                async for turn in asked:
                    yield turn
            async with aclosing(self._act(turn)) as acted:
                async for turn in acted:
                    yield turn
            if not _may_be_over(turn):
                continue
            if turn.is_unfinished and not _is_lost(turn):
                break
            turn = await self.bench.judged(turn)
            yield turn
            is_done = turn.verdicts[-1].done
            if is_done and not (self.steering and turn.steps_left):
                self.steering.close()
                yield turn.ended("done")
                return
            if is_done and turn.closing_text:
                turn, _ = await self.mouth.deliver(turn.closing_text, turn)
            await self.mouth.withdraw(turn)
        yield turn.ended("capped", self._limit_reached(turn))

    async def _steer(self, turn: TurnContext) -> TurnContext:
        """Add the words that have come; what was written of a reply before them is delivered as it is."""
        if self.steering and turn.is_unfinished and turn.closing_text:
            turn, _ = await self.mouth.deliver(turn.closing_text, turn)
        for text in self.steering.take():
            message = user(text)
            await self.journal.append(message)
            self.emit(Steered(turn.input.id, text))
            turn = turn.heard(message)
        return turn

    def _escalated(self, turn: TurnContext) -> TurnContext:
        after = turn if _is_lost(turn) else escalated(turn, self.settings)
        if after is not turn:
            self.emit(Routed(after.input.id, after.route))
        return after

    async def _act(self, turn: TurnContext) -> AsyncGenerator[TurnContext, None]:
        """Have the calls of the step run; nothing that the last step calls could be answered."""
        if not turn.pending_calls:
            return
        await self.mouth.withdraw(turn)
        if not turn.steps_left:
            yield await self._answered(turn, "refused", "the turn has no step left")
            return
        async with aclosing(self.hands.act(turn)) as acted:
            async for after in acted:
                yield after

    def _limit_reached(self, turn: TurnContext) -> str:
        if turn.is_unfinished and turn.steps_left:
            return f"the reply was cut by its length {turn.cuts} times in a row"
        if turn.limits.max_steps < limits_of(self.settings).max_steps:
            return self.mind.account.problem
        return f"stopped after {turn.step} steps and {turn.pushbacks} push-backs"

    async def _close(self, turn: TurnContext) -> TurnContext:
        """Deliver the closing text; where there are no words for the user at all, the kernel finds some."""
        text = turn.closing_text
        if not text:
            await self.mouth.withdraw(turn)
        if not text and (turn.status != "done" or not turn.delivered):
            text = f"I could not finish this: {turn.error or 'I have no answer'}."
            message = assistant(text, source="kernel")
            await self.journal.append(message)
            turn = turn.appended(message)
        if text:
            turn, delivery = await self.mouth.deliver(text, turn)
            if not delivery.delivered:
                return turn.ended("failed", f"the reply could not be delivered: {delivery.problem}")
        return turn

    async def _broken_off(self, turn: TurnContext, partial: str) -> TurnContext:
        """Keep what a model had said when its reply broke off, marked as unfinished; it does not count as told."""
        if not partial.strip():
            return turn
        message = assistant(f"{partial.rstrip()}\n\n{BROKEN_OFF}")
        await self.journal.append(message)
        return turn.appended(message)

    async def _cancelled(self, turn: TurnContext) -> TurnContext:
        """End a turn that was stopped; whatever cancelled itself without being asked to has failed."""
        task = asyncio.current_task()
        if task is None or not task.cancelling():
            turn = await self._answered(turn, "error", "something that this turn used was cancelled")
            await self.mouth.withdraw(turn)
            return turn.ended("failed", "something that this turn used was cancelled")
        turn = await self._answered(turn, "cancelled", "cancelled by the user")
        await self.mouth.withdraw(turn)
        return turn.ended("cancelled", "cancelled by the user")

    async def _answered(self, turn: TurnContext, status: ResultStatus, text: str) -> TurnContext:
        for call in turn.pending_calls:
            turn = self.hands.record(turn, call, answer(call, text, status))
        await self.journal.settled()
        return turn


def _may_be_over(turn: TurnContext) -> bool:
    """Tell whether the step may be the turn's last: words, a wish to end, or delivered texts and nothing else."""
    if turn.has_called:
        return turn.end_requested or turn.said_in_a_row > 0
    return not turn.is_unfinished or turn.cuts >= _MOST_CUTS or _is_lost(turn)


def _is_lost(turn: TurnContext) -> bool:
    """Tell whether a reply that was cut would only go on saying the same."""
    return turn.is_unfinished and goes_in_circles(turn.reply)


def limits_of(settings: Settings) -> Limits:
    """Return a turn's limits. Steps: max(6, min(25, 6 + rounds)) with rounds clamped to 0 to 16 (Bumblebee)."""
    rounds = max(0, min(16, settings.cognition.tool_continuation_rounds))
    return Limits(
        max_steps=max(6, min(25, 6 + rounds)),
        max_pushbacks=settings.gate.max_pushbacks,
        max_auxiliary_calls=settings.cognition.max_auxiliary_calls,
        deadline_s=settings.cognition.turn_deadline_s,
        max_tokens=settings.cognition.turn_max_tokens,
        max_cost=settings.cognition.turn_max_cost,
    )
