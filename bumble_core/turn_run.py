"""Run one turn from its input on disk to its record on disk."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from operator import is_

from .account import Account
from .acting import Hands
from .delivery import Mouth
from .journal import Journal
from .judging import Bench
from .loop import TurnLoop, limits_of
from .parts import Parts
from .ports import Emit, Surface
from .thinking import Mind
from .turn_handle import TurnHandle
from .types.events import TurnStarted
from .types.messages import Message, user
from .types.turn import Turn, TurnInput


async def run_turn(parts: Parts, input: TurnInput, surface: Surface, handle: TurnHandle, emit: Emit) -> Turn:
    """Return the stored record of the turn; the caller holds the session's lease.

    A cancel takes effect between the two writes and never in one of them: a turn that has begun is finished.
    """
    handle.hold()
    await parts.sessions.begin(input)
    emit(TurnStarted(input))
    limits = limits_of(parts.settings)
    account = parts.meter.open(input.id, limits, emit)
    loop = _loop(parts, input, Mouth(surface, emit), account, emit, handle)
    handle.release()
    try:
        context = await loop.run(input, limits)
    finally:
        handle.hold()
        parts.meter.close(input.id)
    handle.steering.close()
    for text in handle.steering.take():  # words that no step was left for are read in the next turn
        context = context.appended(user(text))
        await parts.sessions.append(input.id, context.log[-1])
    view = None if _same((*input.history, *context.log), context.view) else context.view
    record = context.record(parts.clock.now(), dict(account.calls), account.spent)
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


def _loop(parts: Parts, input: TurnInput, mouth: Mouth, account: Account, emit: Emit, handle: TurnHandle) -> TurnLoop:
    journal = Journal(parts.sessions, input.id)
    stages = replace(parts.stages, room=replace(parts.stages.room, emit=emit, account=account))
    hands = Hands(
        tools=parts.tools,
        runner=parts.runner,
        gate=parts.gate,
        settings=parts.settings.tools,
        journal=journal,
        mouth=mouth,
        emit=emit,
    )
    mind = Mind(
        room=stages.room,
        counter=stages.counter,
        inference=stages.inference,
        account=account,
        journal=journal,
        mouth=mouth,
        emit=emit,
    )
    bench = Bench(judge=stages.judge, settings=parts.settings.gate, account=account, emit=emit)
    return TurnLoop(
        stages=stages,
        settings=parts.settings,
        journal=journal,
        mind=mind,
        bench=bench,
        hands=hands,
        mouth=mouth,
        emit=emit,
        steering=handle.steering,
    )


def _same(before: tuple[Message, ...], after: tuple[Message, ...]) -> bool:
    """Compare by identity: a view that nothing compacted holds the very messages it began with."""
    return len(before) == len(after) and all(map(is_, before, after))
