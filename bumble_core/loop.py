"""One turn, start to end. Read this module first.

    route, then each step: make room, ask, act; judge when the model stops calling tools or asks to end.

A turn is a chain of `TurnContext` values. Whatever ends it, a model that fails, a clock that runs out, a person who
cancels, it ends with every call answered and with words for the user or a clear error.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import structlog

from .acting import Hands, answer
from .contract import kept
from .delivery import Mouth
from .errors import ContextOverflow, ContractError, InferenceError
from .journal import Journal
from .ports import Emit, Inference, Judge, Router, SignalSource, TokenCounter
from .prompt import Prompt
from .room import Room
from .tool_calls import with_safe_calls
from .types.events import Drafted, Judged, Routed, Steered
from .types.inference import Completion, Profile, Request
from .types.messages import ResultStatus, assistant, user
from .types.settings import Settings
from .types.turn import Limits, Route, TurnContext, TurnInput, Verdict

log = structlog.get_logger(__name__)

BROKEN_OFF = "[This reply broke off here and was not finished.]"


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
    """Everything that one turn needs beside its input. `steering` holds words that arrive while it runs."""

    stages: Stages
    settings: Settings
    journal: Journal
    hands: Hands
    mouth: Mouth
    emit: Emit
    steering: deque[str]

    async def run(self, input: TurnInput, limits: Limits) -> TurnContext:
        """Answer one message. Cancelling it gives a turn with status `cancelled`; it does not raise."""
        turn = TurnContext.begin(input, default_route(input, self.settings), limits)
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
            except InferenceError as error:
                await self.mouth.withdraw(turn)
                turn = await self._broken_off(self.journal.caught_up(turn), error.partial)
                return turn.ended("failed", str(error))
            return await self._close(turn)
        except asyncio.CancelledError:
            return await self._cancelled(self.journal.caught_up(turn))

    async def _steps(self, turn: TurnContext) -> AsyncGenerator[TurnContext, None]:
        """Yield the turn after everything that happens to it; the last one says how it ended."""
        turn = await self._route(turn)
        context = await self.stages.prompt.context_text(turn)
        while turn.steps_left > 0:
            turn = await self._steer(turn)
            yield turn
            async with aclosing(self._ask(turn, context)) as asked:
                async for turn in asked:
                    yield turn
            if turn.pending_calls and not turn.steps_left:
                turn = await self._answered(turn, "refused", "the turn has no step left")
                break
            if turn.pending_calls:
                await self.mouth.withdraw(turn)
                async with aclosing(self.hands.act(turn)) as acted:
                    async for turn in acted:
                        yield turn
                if not turn.end_requested:
                    continue
            turn = await self._judge(turn)
            yield turn
            if turn.verdicts[-1].done and not (self.steering and turn.steps_left):
                yield turn.ended("done")
                return
            if turn.verdicts[-1].done and turn.closing_text:
                turn, _ = await self.mouth.deliver(turn.closing_text, turn)
            await self.mouth.withdraw(turn)
        yield turn.ended("capped", f"stopped after {turn.step} steps and {turn.pushbacks} push-backs")

    async def _route(self, turn: TurnContext) -> TurnContext:
        signals: dict[str, float] = {}
        for source in self.stages.signals:
            try:
                for name, value in (await source.read(turn.input)).items():
                    signals[name] = max(value, signals.get(name, value))
            except Exception as error:
                log.warning("signal.failed", source=type(source).__name__, error=repr(error))
        input = turn.input.model_copy(update={"signals": signals})
        try:
            route = kept(await self.stages.router.route(input), Route, "the router")
            if not route.models:
                raise ContractError("the router gave a route without a model")
        except Exception as error:
            log.warning("router.failed", router=type(self.stages.router).__name__, error=repr(error))
            route = default_route(input, self.settings, f"the router failed: {error}")
        self.emit(Routed(input.id, route))
        return replace(turn, input=input, route=route)

    async def _steer(self, turn: TurnContext) -> TurnContext:
        while self.steering:
            message = user(self.steering.popleft())
            await self.journal.append(message)
            self.emit(Steered(turn.input.id, message.text))
            turn = turn.appended(message)
        return turn

    async def _ask(self, turn: TurnContext, context: str) -> AsyncGenerator[TurnContext, None]:
        """Ask the model once; a request that does not fit is compacted to the window that the server named.

        The turn is yielded when it fits and when it is answered.
        """
        turn, request, tokens = await self.stages.room.fitted(turn, context)
        yield turn
        try:
            completion = await self._stream(request, turn)
        except ContextOverflow as error:
            if error.partial:
                raise
            await self.mouth.withdraw(turn)
            window = min(error.window or tokens, tokens)
            turn, request, tokens = await self.stages.room.fitted(turn, context, window)
            yield turn
            completion = await self._stream(request, turn)
        usage = completion.usage
        if usage.input_tokens and not usage.estimated:
            self.stages.counter.learn(tokens, usage.input_tokens, completion.model)
        completion = with_safe_calls(completion, turn)
        if not completion.message.is_empty:
            await self.journal.append(completion.message)
        yield turn.answered(completion)

    async def _stream(self, request: Request, turn: TurnContext) -> Completion:
        async with aclosing(self.stages.inference.stream(request)) as stream:
            async for item in stream:
                if isinstance(item, Completion):
                    return item
                self.emit(Drafted(turn.input.id, item))
                await self.mouth.draft(item, turn)
        raise InferenceError("the model gave no completion")

    async def _judge(self, turn: TurnContext) -> TurnContext:
        """Ask whether the turn may end; push-backs that are used up end it as it is."""
        if turn.pushbacks >= turn.limits.max_pushbacks and turn.visible_text:
            verdict = Verdict(done=True, decided_by="kernel", reason="the judge's push-backs are used up")
        else:
            try:
                verdict = kept(await self.stages.judge.judge(turn), Verdict, "the judge")
            except Exception as error:
                log.warning("judge.failed", judge=type(self.stages.judge).__name__, error=repr(error))
                verdict = Verdict(done=True, decided_by="kernel", reason=f"the judge failed: {error}")
        self.emit(Judged(turn.input.id, verdict))
        return turn.judged(verdict)

    async def _close(self, turn: TurnContext) -> TurnContext:
        """Deliver the closing text; where there are no words for the user at all, the kernel finds some."""
        text = turn.closing_text
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
            turn = await self.hands.record(turn, call, answer(call, text, status))
        return turn


def default_route(input: TurnInput, settings: Settings, reason: str = "no router was asked") -> Route:
    """Return the route that is taken when no router decides: deliberate."""
    cognition = settings.cognition
    profile = Profile(
        name="deliberate", max_tokens=cognition.deliberate_max_tokens, thinking=True, temperature=cognition.temperature
    )
    return Route(profile=profile, models=input.models, decided_by="forced", reason=reason)


def limits_of(settings: Settings) -> Limits:
    """Return a turn's limits. Steps: max(6, min(25, 6 + rounds)) with rounds clamped to 0 to 16 (the first seed)."""
    rounds = max(0, min(16, settings.cognition.tool_continuation_rounds))
    return Limits(
        max_steps=max(6, min(25, 6 + rounds)),
        max_pushbacks=settings.gate.max_pushbacks,
        max_auxiliary_calls=settings.cognition.max_auxiliary_calls,
        deadline_s=settings.cognition.turn_deadline_s,
    )
