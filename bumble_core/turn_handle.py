"""A running turn as its caller holds it: what happens, how it ends, and a way to steer or stop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from .steering import Steering
from .types.events import Event
from .types.turn import Turn


class TurnHandle:
    """Given by `Runtime.start`. Dropping the handle does not stop the turn; `cancel` does."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.steering = Steering()
        self._events: list[Event] = []
        self._changed = asyncio.Event()
        self._task: asyncio.Task[Turn] | None = None
        self._is_cancelled = False
        self._is_held = True

    def attach(self, task: asyncio.Task[Turn]) -> None:
        """Bind the task that runs the turn; the runtime does this once."""
        self._task = task
        task.add_done_callback(lambda _: self._changed.set())

    def notice(self, event: Event) -> None:
        """Take note of an event; the runtime calls this."""
        self._events.append(event)
        self._changed.set()

    def hold(self) -> None:
        """Keep a cancel back until `release`; the runtime does this while a turn begins and when it is over."""
        self._is_held = True

    def release(self) -> None:
        """Let a cancel take effect, one that was kept back too."""
        self._is_held = False
        if self._is_cancelled and self._task is not None:
            self._task.cancel()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield what happened so far and what happens next, until the turn has ended.

        Raises:
            BumbleError: the turn could not be run or stored at all.
        """
        seen = 0
        while True:
            self._changed.clear()
            while seen < len(self._events):
                yield self._events[seen]
                seen += 1
            if self._task is not None and self._task.done():
                self._task.result()
                return
            await self._changed.wait()

    async def result(self) -> Turn:
        """Wait for the end; a cancelled turn has the status `cancelled`.

        When the one who waits is cancelled, the turn is cancelled too and has ended when that is raised.
        """
        assert self._task is not None
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if not self._task.done():
                self.cancel()
                await asyncio.wait([self._task])
            raise

    def cancel(self) -> None:
        """Stop the turn. Open calls get a `cancelled` result, so that the next turn works."""
        if self._task is None or self._task.done() or self._is_cancelled:
            return
        self._is_cancelled = True
        if not self._is_held:
            self._task.cancel()

    def steer(self, text: str) -> bool:
        """Add words of the user to the running turn; the model reads them at its next step.

        Where no step follows, because the turn is cancelled or fails, they stay in the log and are read in the next
        turn. False means that the turn listens no more and nothing was added.
        """
        return self.steering.add(text)
