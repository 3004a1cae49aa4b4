"""What a turn has said and done, on disk as it comes."""

from __future__ import annotations

import asyncio

from .ports import Sessions
from .types.messages import Message
from .types.turn import TurnContext


class Journal:
    """One turn's way to the log. A write that has begun is ended, and counts, also when the turn is stopped.

    Messages are written in the order they come; those that come together share one transaction.
    """

    def __init__(self, sessions: Sessions, turn_id: str) -> None:
        self._sessions, self._turn_id = sessions, turn_id
        self._taken: list[Message] = []
        self._waiting: list[Message] = []
        self._writing: asyncio.Task[None] | None = None

    async def append(self, message: Message) -> None:
        """Make `message` durable. Where the turn is cancelled meanwhile, that is raised once it is written."""
        self.begin(message)
        await self.settled()

    def begin(self, message: Message) -> None:
        """Have `message` written from now on; `settled` waits for it."""
        self._taken.append(message)
        self._waiting.append(message)
        if self._writing is None or _went_well(self._writing):
            self._writing = asyncio.ensure_future(self._write())

    async def settled(self) -> None:
        """Wait until everything is on disk. A cancellation meanwhile is raised after that."""
        task, cancelled = self._writing, None
        if task is None:
            return
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
        self._writing = None
        task.result()
        if cancelled is not None:
            raise cancelled

    def caught_up(self, turn: TurnContext) -> TurnContext:
        """Return `turn` with the messages that were taken but not added to it, because it was stopped."""
        known = {message.id for message in turn.log}
        for message in self._taken:
            if message.id not in known:
                turn = turn.observed(message) if message.role == "tool" else turn.appended(message)
        return turn

    async def _write(self) -> None:
        while self._waiting:
            messages, self._waiting = tuple(self._waiting), []
            await self._sessions.append(self._turn_id, *messages)


def _went_well(task: asyncio.Task[None]) -> bool:
    """Tell whether a write is over; one that failed is still to be reported."""
    return task.done() and not task.cancelled() and task.exception() is None
