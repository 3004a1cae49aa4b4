"""Compact a session because somebody asked for it, outside of any turn of the conversation."""

from __future__ import annotations

from dataclasses import replace

from .errors import ConfigError
from .loop import limits_of
from .parts import Parts
from .routing import default_route
from .types.base import new_id
from .types.compaction import Compaction
from .types.inference import ModelRef
from .types.messages import Message, Text
from .types.turn import TurnContext, TurnInput


async def compact_session(
    parts: Parts, session_id: str, focus: str, models: tuple[ModelRef, ...], wait_s: float
) -> Compaction:
    """Shorten the session's view and write an entry of it to the session; where nothing is freed nothing is written.

    The entry is a turn of its own whose input is the command; the command is not part of the view.

    Raises:
        SessionBusy: a turn of the session runs for longer than `wait_s`.
        ConfigError: no model is configured.
    """
    order = models or parts.choices.chosen("interactive") or parts.settings.agent.models
    if not order:
        raise ConfigError("agent.models: no model is configured; name one, for example `local:smollm2`")
    async with parts.sessions.open(session_id, wait_s):
        session = await parts.sessions.resume(session_id)
        command = Message(role="user", parts=(Text(text=f"/compact {focus}".strip()),), source="kernel")
        input = TurnInput(
            id=new_id("turn"),
            session_id=session_id,
            message=command,
            history=session.view,
            models=order,
            started=parts.clock.now(),
        )
        turn = await _shortened(parts, input, focus)
        done = turn.compactions[-1]
        if done.freed > 0:
            await parts.sessions.begin(input)
            view = tuple(message for message in turn.view if message.id != command.id)
            account = {"compact": done.spent} if done.spent else {}
            await parts.sessions.finish(turn.ended("done").record(parts.clock.now(), {}, account), view)
    return done


async def _shortened(parts: Parts, input: TurnInput, focus: str) -> TurnContext:
    limits = limits_of(parts.settings)
    account = parts.meter.open(input.id, limits)
    try:
        room = replace(parts.stages.room, account=account)
        turn = TurnContext.begin(input, default_route(input, parts.settings), limits)
        return await room.shortened(await parts.stages.prompt.compiled(turn), focus)
    finally:
        parts.meter.close(input.id)
