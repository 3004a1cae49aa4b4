"""A process in which a test holds conversations, event by event, and which it may kill."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bumble_talk import end_turn, say

from bumble_core import Runtime, Settings, ToolError, TurnHandle, assemble, tool
from bumble_core.builtin.system import SystemClock
from bumble_core.types.turn import Turn
from tests.held import Held, Reply
from tests.pieces import Tools
from tests.shipped import construct_shipped
from tests.turn_laws import Laws

DEADLINES_S = {"tool": 30, "turn": 300}
_PATIENCE_S = 60


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop on which time can be made to pass."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


@dataclass(eq=False)
class Begun:
    """The turn that a message becomes; `steered` are the words that it took while it ran."""

    handle: TurnHandle
    ended: asyncio.Task[Turn]
    is_cancelled: bool = False
    steered: list[str] = field(default_factory=list)

    def steer(self, text: str) -> None:
        if self.handle.steer(text):
            self.steered.append(text)

    def cancel(self) -> None:
        self.is_cancelled = True
        self.handle.cancel()


@dataclass
class Process:
    """One life of an agent over a home. Every method that acts leaves it waiting: for the test, or for nothing."""

    home: Path
    held: Held
    runtime: Runtime
    turns: defaultdict[str, list[Begun]] = field(default_factory=lambda: defaultdict(list))

    def say(self, session: str, text: str) -> None:
        """Send a message that waits for the turns before it."""
        handle = self.runtime.start(text, session=session)
        ended = asyncio.ensure_future(handle.result())
        ended.add_done_callback(lambda _: self.held.changed.set())
        self.turns[session].append(Begun(handle, ended))

    def open_turns(self, session: str) -> list[Begun]:
        return [turn for turn in self.turns[session] if not turn.ended.done()]

    async def asked(self, session: str, words: Callable[[], str]) -> None:
        """Bring about that the model is asked: its tools end, and where the turn ends with them, something is said."""
        for _ in range(2):
            if not self.open_turns(session):
                self.say(session, words())
            await self.settled()
            await self.worked(session)

    async def worked(self, session: str) -> None:
        """Let the calls that are at work succeed."""
        while self.held.working[session]:
            self.held.working[session].pop().set_result("fine")
            await self.settled()

    def answered(self, session: str, reply: Reply) -> None:
        """Let the model reply, where it was asked."""
        if waiting := self.held.asked[session]:
            waiting.pop().set_result(reply)

    async def cancelled(self, session: str) -> None:
        """Cancel every turn that there is."""
        for turn in self.open_turns(session):
            turn.cancel()
        await self.settled()

    async def time_passes(self, seconds: float, *, ends_turns: bool) -> None:
        """Let so much time pass that every call that is at work has had its time, or every turn that runs."""
        running = [turn.ended for session in self.turns for turn in self.open_turns(session)[:1]]
        at_work = [future for futures in self.held.working.values() for future in futures]
        doomed: list[asyncio.Future[Any]] = running if ends_turns else at_work
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SkippingLoop)
        loop.skipped_s += seconds
        await _over(doomed)
        await self.settled()

    async def settled(self) -> None:
        """Wait until nothing moves any more.

        Raises:
            TimeoutError: something moves forever, or waits for nobody.
        """
        async with asyncio.timeout(_PATIENCE_S):
            while not all(map(self._is_settled, list(self.turns))):
                self.held.changed.clear()
                await self.held.changed.wait()

    def ended(self) -> list[Begun]:
        """Return the turns that have ended since the last time."""
        done = [turn for turns in self.turns.values() for turn in turns if turn.ended.done()]
        for session in self.turns:
            self.turns[session] = self.open_turns(session)
        return done

    async def killed(self, into: Path) -> None:
        """Leave in `into` what a process that is killed now leaves; what this one does afterwards nobody sees."""
        into.mkdir()
        for path in sorted(self.home.rglob("*")):
            _leave(path, into / path.relative_to(self.home))
        self.held.laws = self.held.laws.copy()
        await self.closed()
        self.turns.clear()
        shutil.rmtree(self.home)

    async def closed(self) -> None:
        await self.runtime.aclose()
        await _over([turn.ended for turns in self.turns.values() for turn in turns])

    def _is_settled(self, session: str) -> bool:
        turns = self.open_turns(session)
        if not turns:
            return True
        running = self.held.laws.running.get(session)
        is_cancelled = any(turn.is_cancelled for turn in turns)
        return running is not None and not is_cancelled and self.held.is_waiting(session, running)


def fine() -> str:
    """Succeed."""
    return "fine"


async def fails() -> str:
    """Fail."""
    raise ToolError("out of paper")


async def floods() -> str:
    """Say far too much."""
    return "flood " * 20_000


class QuickClock(SystemClock):
    """Does not let a queued turn wait for the next look at its lease."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(min(seconds, 0.001))


class Kit:
    """What the processes of all machines are made of."""

    def __init__(self) -> None:
        talk = [tool(each, is_work=False) for each in (say, end_turn)]
        self._plugins = {
            **construct_shipped("router", "judge", "compactor", "jobs"),
            "talk": Tools(*talk),
            "own": Tools(*map(tool, (fine, fails, floods))),
        }

    def process(self, home: Path, laws: Laws) -> Process:
        found = Settings.model_validate(
            {
                "agent": {"models": ["scripted:model"]},
                "home": home,
                "cognition": {
                    "max_context_tokens": 3000,
                    "history_compression": {"compaction_protect_last_n": 4},
                    "tool_continuation_rounds": 0,
                    "turn_deadline_s": DEADLINES_S["turn"],
                },
                "tools": {"timeout_s": DEADLINES_S["tool"], "max_output_chars": 1500},
            }
        )
        held = Held(laws)
        plugins = {**self._plugins, "scripted": held}
        runtime = assemble(found, plugins=plugins, discovers=False, run_jobs=False, clock=QuickClock())
        return Process(home, held, runtime)


def _leave(path: Path, copy: Path) -> None:
    """Copy what is there at this moment; threads that write go on meanwhile."""
    if path.is_dir():
        copy.mkdir()
    elif path.suffix == ".sqlite3":
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
    elif ".sqlite3" not in path.name:
        with suppress(FileNotFoundError):
            shutil.copyfile(path, copy)


async def _over(futures: Iterable[asyncio.Future[Any]]) -> None:
    """Wait until all of them are done, well or not."""
    async with asyncio.timeout(_PATIENCE_S):
        for future in futures:
            await asyncio.wait([future])
