"""Walk the fallback order until one model answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import structlog

from ..circles import CirclesWatch
from ..contract import FAULTS
from ..errors import ContextOverflow, InferenceError, MalformedReply, ModelMissing, ReplyCut
from ..metering import check_author
from ..ports import Clock, Provider
from ..types.inference import Completion, Delta, ModelRef, Request
from .circuits import Circuits
from .cutting_short import cut_short
from .endpoints import EndpointMemory
from .levels import Levels, unfinished
from .names import Names
from .walk import Candidate, Walk
from .windows import Windows

log = structlog.get_logger(__name__)


class FallbackInference:
    """Asks the models of a request in order; none after words were heard, for they would be said twice.

    The next model is asked when one fails, cuts its reply, or replies with nothing at all. A reply that is only
    thought is a reply: what to do about it is the judge's to say. `windows` are the configured ones, in tokens.
    """

    def __init__(
        self, providers: Mapping[str, Provider], memory: EndpointMemory, clock: Clock, windows: Mapping[str, int]
    ) -> None:
        self._names = Names(providers)
        self._circuits = Circuits(clock)
        self._windows = Windows(windows, memory)
        self._levels = Levels(memory, clock)

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        """Yield the first usable answer; the failures before it travel with its completion.

        A request for anything but a turn yields no deltas: nobody reads them, and so the next model may be asked
        whatever was said.

        Raises:
            ContextOverflow: the first model cannot hold the request, or nobody answered and a later one cannot.
            AllModelsFailed: no model answered; `attempts` has each one's error.
            InferenceError: the only model failed, or one did after words were heard; `partial` has them.
        """
        walk = Walk(request)
        async with aclosing(self._candidates(walk)) as candidates:
            async for candidate in candidates:
                walk.is_asked = True
                async with aclosing(self._ask(candidate, walk)) as items:
                    async for item in items:
                        yield item
                if walk.is_answered:
                    return
        if walk.empty is None:
            raise walk.failure()
        yield walk.answered(walk.empty)

    async def window_of(self, ref: ModelRef, *, may_list: bool) -> int | None:
        """Return how many tokens a model holds, as far as that is known."""
        try:
            resolved = await self._names.resolve(ref) if may_list or ref.provider else ref
            return await self._windows.of(resolved, self._names.provider(resolved), may_list=may_list)
        except ModelMissing:
            return None

    async def _candidates(self, walk: Walk) -> AsyncGenerator[Candidate, None]:
        """Yield who is to be asked: those that can be expected to answer, or else the one that may soonest."""
        for place, wanted in enumerate(walk.request.models):
            candidate = await self._candidate(wanted, walk, is_first=place == 0)
            if candidate is None or not await self._is_promising(candidate, walk):
                continue
            yield candidate
            if isinstance(walk.failed[-1][1], ModelMissing) and self._names.forget(wanted):
                other = await self._candidate(wanted, walk, is_first=place == 0)
                if other is not None and other.ref != candidate.ref:
                    yield other
        if not walk.is_asked and (soonest := walk.soonest) is not None:
            yield soonest

    async def _candidate(self, wanted: ModelRef, walk: Walk, *, is_first: bool) -> Candidate | None:
        try:
            ref = await self._names.resolve(wanted)
            provider = self._names.provider(ref)
        except ModelMissing as error:
            walk.failed.append((wanted, error))
            return None
        return Candidate(wanted=wanted, ref=ref, provider=provider, circuit=self._circuits.of(ref), is_first=is_first)

    async def _is_promising(self, candidate: Candidate, walk: Walk) -> bool:
        ref = candidate.ref
        if not candidate.is_first and (size := await self._windows.too_small(ref, candidate.provider, walk.request)):
            window, needed = size
            text = f"`{ref}` was not asked: the request needs some {needed} tokens and its window holds {window}"
            walk.failed.append((ref, ContextOverflow(text, window)))
            return False
        if (obstacle := candidate.circuit.obstacle) is not None:
            walk.failed.append((ref, InferenceError(f"`{ref}` was not asked: {obstacle}")))
            walk.passed_over.append(candidate)
            return False
        return True

    async def _ask(self, candidate: Candidate, walk: Walk) -> AsyncGenerator[Delta | Completion, None]:
        """Yield what one model says; a failure after which another may be asked is noted in `walk`.

        A reply that goes in circles is not waited for: it ends as if its length had cut it.
        """
        said: list[Delta] = []
        watch, is_whole = CirclesWatch(), False
        try:
            with candidate.circuit.trying():
                async with aclosing(
                    await self._levels.asking(walk.request, candidate.ref, candidate.provider)
                ) as items:
                    async for item in items:
                        if isinstance(item, Delta):
                            said.append(item)
                            if walk.is_heard:
                                yield item
                            if not watch.is_lost_after(item.text or item.thinking):
                                continue
                        is_whole = True
                        reply = cut_short(said, candidate.ref, walk.request) if isinstance(item, Delta) else item
                        if (completion := _judged(reply, candidate, walk)) is not None:
                            yield completion
                        break
                if not is_whole:
                    raise unfinished(candidate.ref)
        except FAULTS as error:
            failure = error if isinstance(error, InferenceError) else _failure(candidate.ref, error)
            await self._note(failure, candidate, walk)
            words = "".join(delta.text for delta in said) if walk.is_heard else ""
            if words.strip():
                raise walk.broken_off(failure, words) from failure.__cause__
            if candidate.is_first and isinstance(failure, ContextOverflow):
                raise
            walk.failed.append((candidate.ref, failure))

    async def _note(self, failure: InferenceError, candidate: Candidate, walk: Walk) -> None:
        log.warning(
            "inference.attempt_failed", model=str(candidate.ref), purpose=walk.request.purpose, error=str(failure)
        )
        candidate.circuit.failed(failure)
        if isinstance(failure, ContextOverflow) and failure.window:
            await self._windows.learn(candidate.ref, candidate.provider, failure.window)


def _judged(completion: Completion, candidate: Candidate, walk: Walk) -> Completion | None:
    """Return a usable completion; an empty one is kept in `walk`, for when nobody has more to say.

    Raises:
        ReplyCut: the connection was lost before the reply ended.
        MalformedReply: no model can have written it.
    """
    message, ref = completion.message, candidate.ref
    check_author(completion)
    if completion.finish == "cut":
        error = ReplyCut(f"`{ref}`: the connection was lost before the reply ended")
        error.partial = message.text
        raise error
    candidate.circuit.succeeded()
    if message.is_empty and not message.thinking.strip():
        walk.empty = walk.empty or completion
        walk.failed.append((ref, MalformedReply(f"`{ref}` replied with nothing")))
        return None
    return walk.answered(completion)


def _failure(ref: ModelRef, error: Exception | SystemExit) -> InferenceError:
    """Return what a provider raised against its port as the failure of one model: the next may answer."""
    failure = InferenceError(f"`{ref}`: its provider raised {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure
