"""Learn, once per model and server, how a model is brought to call tools, and ask it that way.

A model that nothing is known of is asked natively. When it answers a forced request in words, or its server refuses
the request for its tools, it is asked once more with a schema; that request describes the tools and demands a call in
words too, so its answer tells the last two levels apart. Of two replies in words the first is the reply.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta

import structlog

from ..closing import closing
from ..errors import InferenceError, MalformedReply
from ..forcing import Level, at_level
from ..ports import Clock, Provider
from ..types.base import new_id
from ..types.inference import Completion, Delta, ModelRef, Profile, Request, ToolSpec
from ..types.messages import user
from ..written_calls import CallWatch, understood
from .endpoints import EndpointMemory, LearntLevel, endpoint_key
from .lesson import MISSES, Lesson

log = structlog.get_logger(__name__)

_FRESH = timedelta(days=7)  # after this a level below native is learnt again: servers and templates improve
_PROBE_TOOL = ToolSpec(
    name="report_number",
    description="Report a number.",
    parameters={
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
        "additionalProperties": False,
    },
)
_PROBE_REQUESTS = 2


class Levels:
    """Asks one model, at the level that is known of it or that is learnt on the way."""

    def __init__(self, memory: EndpointMemory, clock: Clock) -> None:
        self._memory, self._clock = memory, clock

    async def asking(
        self, request: Request, ref: ModelRef, provider: Provider
    ) -> AsyncGenerator[Delta | Completion, None]:
        """Return what yields the model's deltas and its completion, or raises an `InferenceError`.

        While a level is learnt, words are held back until it is known which reply counts.
        """
        known = (await self._memory.of(endpoint_key(provider, ref))).level
        level: Level = known.level if known else "native"
        if not request.tools or request.tool_choice == "none":
            return _asked(request, level, ref, provider)
        is_forced = request.tool_choice == "required"
        is_open = is_forced and not self._holds(known)
        lesson = Lesson(
            ref=ref,
            level="native" if is_open else level,
            is_forced=is_forced,
            is_open=is_open,
            misses=0 if is_open or known is None else known.misses,
        )
        return self._learning(lesson, request, provider)

    async def probe(self, ref: ModelRef, provider: Provider, window: int = 32_768) -> LearntLevel:
        """Learn a model's level anew with at most two requests, and remember it.

        `window`, in tokens, is the configured one: with another a server may have to load its model again.

        Raises:
            MalformedReply: the model's replies tell nothing.
            InferenceError: the model did not answer.
        """
        request = Request(
            owner=new_id("probe"),
            purpose="probe",
            models=(ref,),
            profile=Profile(name="probe", max_tokens=256, temperature=0.0),
            messages=(user("Report the number 7."),),
            tools=(_PROBE_TOOL,),
            tool_choice="required",
            context_window=window,
        )
        lesson = Lesson(ref=ref, level="native", is_forced=True, is_open=True)
        async with aclosing(self._learning(lesson, request, provider, most_requests=_PROBE_REQUESTS)) as stream:
            async for _ in stream:
                pass
        learnt = (await self._memory.of(endpoint_key(provider, ref))).level
        if lesson.learnt is None or learnt is None:
            raise MalformedReply(f"`{ref}` replied neither with a call nor with words: its level is not known")
        return learnt

    async def _learning(
        self, lesson: Lesson, request: Request, provider: Provider, most_requests: int | None = None
    ) -> AsyncGenerator[Delta | Completion, None]:
        reply: Completion | None = None
        asked, is_heard = 0, False
        while reply is None and not lesson.is_over(asked, most_requests):
            asked += 1
            items = _asked(request, lesson.level, lesson.ref, provider, holds=lesson.is_forced and lesson.is_open)
            completion: Completion | None = None
            try:
                async with closing(items, str(lesson.ref)) as stream:
                    async for item in stream:
                        if isinstance(item, Completion):
                            completion = item
                            break
                        is_heard = is_heard or item.text != ""
                        yield item
                if completion is None:
                    raise unfinished(lesson.ref)
                reply = lesson.heard(completion)
            except InferenceError as error:
                if lesson.takes(error) and not is_heard:
                    lesson.refused(error)
                elif (reply := lesson.broke_off(error)) is None:
                    raise
        reply = reply or lesson.given_up()
        await self._keep(lesson, endpoint_key(provider, lesson.ref))
        if reply is not None:
            if lesson.is_forced and lesson.is_open and reply.message.text:
                yield Delta(text=reply.message.text)
            yield reply

    def _holds(self, known: LearntLevel | None) -> bool:
        """Tell whether what is known may be relied on when a call is forced."""
        if known is None or known.misses >= MISSES:
            return False
        return known.level == "native" or self._clock.now() - known.at < _FRESH

    async def _keep(self, lesson: Lesson, key: str) -> None:
        if lesson.learnt is None:
            return
        known = (await self._memory.of(key)).level
        if known is not None and known.level == lesson.learnt and not lesson.is_open:
            await self._memory.keep(key, level=known.model_copy(update={"misses": lesson.misses}))
            return
        log.info("level.learnt", model=str(lesson.ref), level=lesson.learnt, reason=lesson.reason)
        learnt = LearntLevel(level=lesson.learnt, reason=lesson.reason, at=self._clock.now())
        await self._memory.keep(key, level=learnt)


def unfinished(ref: ModelRef) -> MalformedReply:
    """Return the error for a provider that keeps no promise."""
    return MalformedReply(f"provider `{ref.provider}` ended its stream without a completion")


def _asked(
    request: Request, level: Level, ref: ModelRef, provider: Provider, *, holds: bool = False
) -> AsyncGenerator[Delta | Completion, None]:
    """Return the stream of one request; with `holds` all words are held back."""
    stream = provider.stream(at_level(request, level), ref.model)
    reads = level in ("schema", "prompted") and bool(request.tools)
    return _read(stream, reads=reads, holds=holds) if reads or holds else stream


async def _read(
    stream: AsyncGenerator[Delta | Completion, None], *, reads: bool, holds: bool
) -> AsyncGenerator[Delta | Completion, None]:
    """Yield deltas without what may turn out to be calls, and the completion with the calls in its text."""
    watch, told = CallWatch(), ""
    async with aclosing(stream) as items:
        async for item in items:
            if isinstance(item, Completion):
                completion = understood(item) if reads and item.finish not in ("cut", "filtered") else item
                if not holds and (rest := _rest(completion.message.text, told)):
                    yield Delta(text=rest)
                yield completion
                return
            words = "" if holds else watch.feed(item.text)
            told += words
            if words or item.thinking:
                yield Delta(text=words, thinking=item.thinking)


def _rest(words: str, told: str) -> str:
    """Return what of a reply's words was held back; blanks at the end of what was told may have become none."""
    told = told if words.startswith(told) else told.rstrip()
    return words.removeprefix(told) if words.startswith(told) else ""
