"""Run one turn from its input on disk to its record on disk."""

from __future__ import annotations

from datetime import datetime
from operator import is_

from .acting import Hands
from .delivery import Mouth
from .journal import Journal
from .loop import TurnLoop, limits_of
from .parts import Parts
from .ports import Emit, Surface
from .turn_handle import TurnHandle
from .types.events import TurnStarted
from .types.messages import Message
from .types.turn import Turn, TurnInput


async def run_turn(parts: Parts, input: TurnInput, surface: Surface, handle: TurnHandle, emit: Emit) -> Turn:
    """Return the stored record of the turn; the caller holds the session's lease.

    A cancel takes effect between the two writes and never in one of them: a turn that has begun is finished.
    """
    handle.hold()
    await parts.sessions.begin(input)
    emit(TurnStarted(input))
    limits = limits_of(parts.settings)
    account = parts.meter.open(input.id, limits.max_auxiliary_calls, emit)
    loop = _loop(parts, input, Mouth(surface, emit), emit, handle)
    handle.release()
    try:
        context = await loop.run(input, limits)
    finally:
        handle.hold()
        parts.meter.close(input.id)
    view = None if _same((*input.history, *context.log), context.view) else context.view
    record = context.record(parts.clock.now(), account.usage, dict(account.calls))
    return await parts.sessions.finish(record, view)


def never_begun(input: TurnInput, at: datetime) -> Turn:
    """Return the record of a turn that was cancelled while it waited; nothing of it is stored."""
    return Turn(
        id=input.id,
        session_id=input.session_id,
        origin=input.origin,
        surface=input.surface,
        started=input.started,
        finished=at,
        status="cancelled",
        error="cancelled before it began",
        messages=(input.message,),
    )


def _loop(parts: Parts, input: TurnInput, mouth: Mouth, emit: Emit, handle: TurnHandle) -> TurnLoop:
    journal = Journal(parts.sessions, input.id)
    hands = Hands(
        tools=parts.tools,
        runner=parts.runner,
        gate=parts.gate,
        settings=parts.settings.tools,
        journal=journal,
        mouth=mouth,
        emit=emit,
    )
    return TurnLoop(
        stages=parts.stages,
        settings=parts.settings,
        journal=journal,
        hands=hands,
        mouth=mouth,
        emit=emit,
        steering=handle.steering,
    )


def _same(before: tuple[Message, ...], after: tuple[Message, ...]) -> bool:
    """Compare by identity: a view that nothing compacted holds the very messages it began with."""
    return len(before) == len(after) and all(map(is_, before, after))
