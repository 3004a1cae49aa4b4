"""What a turn has said and done, on disk as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from .ports import Sessions
from .types.messages import Message
from .types.turn import TurnContext


class Journal:
    """One turn's way to the log. A write that has begun is ended, and counts, also when the turn is stopped."""

    def __init__(self, sessions: Sessions, turn_id: str) -> None:
        self._sessions, self._turn_id = sessions, turn_id
        self._written: list[Message] = []

    async def append(self, message: Message) -> None:
        """Make `message` durable. Where the turn is cancelled meanwhile, that is raised once it is written."""
        await _to_the_end(self._append(message))

    def caught_up(self, turn: TurnContext) -> TurnContext:
        """Return `turn` with the messages that were written but not added to it, because it was stopped."""
        known = {message.id for message in turn.log}
        for message in self._written:
            if message.id not in known:
                turn = turn.observed(message) if message.role == "tool" else turn.appended(message)
        return turn

    async def _append(self, message: Message) -> None:
        await self._sessions.append(self._turn_id, message)
        self._written.append(message)


async def _to_the_end(work: Coroutine[object, object, None]) -> None:
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
