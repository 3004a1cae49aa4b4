"""A simulated clock, sessions in memory and no threads: what controllers do in years happens in seconds, in order."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import os
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal

from typing_extensions import override

from bumble_core import Runtime, Settings, assemble, assistant, user
from bumble_core.builtin.exchange import exchange
from bumble_core.builtin.system import SystemFiles
from bumble_core.ports import Files, Job, Sessions
from bumble_core.testing import ScriptedProvider
from bumble_core.types.jobs import JobResult, JobSpec, JobView, RunRecord, Trigger, Write
from bumble_core.types.messages import Message
from bumble_core.types.record import Route, Verdict
from bumble_core.types.sessions import Hit, Session, SessionInfo
from bumble_core.types.turn import Turn, TurnContext, TurnInput
from tests.pieces import filling
from tests.shipped import construct_shipped

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class SimulatedClock:
    """Time moves only by `advance`, which wakes each sleeper at its moment; `jump` sets the clock on the wall alone."""

    def __init__(self, at: datetime = NOON) -> None:
        self._begin, self._elapsed, self._offset = at, 0.0, timedelta()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    def now(self) -> datetime:
        return self._begin + timedelta(seconds=self._elapsed) + self._offset

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + max(seconds, 0.0), next(self._numbers), future))
        await future

    def jump(self, span: timedelta) -> None:
        self._offset += span

    async def advance(self, span: timedelta) -> None:
        target = self._elapsed + span.total_seconds()
        await settled()
        while self._sleepers and self._sleepers[0][0] <= target:
            due, _, future = heapq.heappop(self._sleepers)
            if future.done():
                continue
            self._elapsed = max(self._elapsed, due)
            future.set_result(None)
            await settled()
        self._elapsed = target
        await settled()


async def settled() -> None:
    """Return when nothing can happen any more without time, a thread or somebody else."""
    loop: Any = asyncio.get_running_loop()
    await asyncio.sleep(0)
    while loop._ready:  # there is no public way to ask
        await asyncio.sleep(0)


class Inline(ThreadPoolExecutor):
    """Runs in the caller's thread, so that a test is the same each time."""

    @override
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def without_threads() -> None:
    """Let the running loop do everything in its own thread, and its own clock jump to whatever it would wait for."""
    loop: Any = asyncio.get_running_loop()
    loop.set_default_executor(Inline())
    look, tell, jumped_s = loop._selector.select, loop.time, 0.0  # there is no public way to jump

    def select(timeout: float | None) -> Any:
        nonlocal jumped_s
        found = look(timeout and 0)
        jumped_s += 0.0 if found else timeout or 0.0
        return found

    loop._selector.select, loop.time = select, lambda: tell() + jumped_s


class FastFiles(SystemFiles):
    """Writes without waiting for the disk: a simulation is not killed."""

    @override
    def fsync(self, handle: BinaryIO) -> None:
        handle.flush()

    @override
    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    @override
    def put(self, source: Path, target: Path) -> None:
        os.link(source, target)
        source.unlink()

    @override
    def swap(self, source: Path, target: Path) -> bool:
        return exchange(source, target)


class Mortal(FastFiles):
    """Writes nothing any more once it is dead: what a killed process had not written is not there."""

    def __init__(self) -> None:
        self.is_dead = False

    @override
    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        self._live()
        return super().open(path, mode)

    @override
    def replace(self, source: Path, target: Path) -> None:
        self._live()
        super().replace(source, target)

    @override
    def put(self, source: Path, target: Path) -> None:
        self._live()
        super().put(source, target)

    @override
    def swap(self, source: Path, target: Path) -> bool:
        self._live()
        return super().swap(source, target)

    @override
    def unlink(self, path: Path) -> None:
        self._live()
        super().unlink(path)

    def _live(self) -> None:
        if self.is_dead:
            raise OSError("the process is dead")


class MemorySessions:
    """Fills the `Sessions` port with turns in memory, for those who have no conversation to keep."""

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self.log: list[Turn] = []

    def add(self, text: str = "hello") -> Turn:
        at = self._clock.now()
        number = len(self.log) + 1
        turn = Turn(
            id=f"turn_{number}",
            session_id="s",
            started=at,
            finished=at,
            status="done",
            number=number,
            messages=(user(text), assistant("yes")),
        )
        self.log.append(turn)
        return turn

    async def turns(self, after: int = 0, session_id: str | None = None, limit: int | None = None) -> tuple[Turn, ...]:
        return tuple(self.log[after : None if limit is None else after + limit])

    async def count(self, after: int = 0) -> int:
        return max(0, len(self.log) - after)

    async def list(self) -> tuple[SessionInfo, ...]:
        if not self.log:
            return ()
        first, last = self.log[0].started, self.log[-1].started
        return (SessionInfo(id="s", created=first, updated=last, turn_count=len(self.log)),)

    def open(self, session_id: str, wait_s: float) -> AbstractAsyncContextManager[None]:
        raise NotImplementedError

    async def resume(self, session_id: str) -> Session:
        raise NotImplementedError

    async def begin(self, input: TurnInput) -> None:
        raise NotImplementedError

    async def append(self, turn_id: str, message: Message) -> None:
        raise NotImplementedError

    async def finish(self, turn: Turn, view: tuple[Message, ...] | None) -> Turn:
        raise NotImplementedError

    async def search(self, text: str, session_id: str | None = None, limit: int = 20) -> tuple[Hit, ...]:
        raise NotImplementedError

    async def originals(self, session_id: str, ids: Collection[str]) -> dict[str, Message]:
        return {m.id: m for turn in self.log for m in turn.messages if m.id in ids}

    async def restore(self, session_id: str, turns: tuple[Turn, ...]) -> None:
        raise NotImplementedError

    async def delete(self, session_id: str) -> int:
        raise NotImplementedError


class NoTurns:
    """Fills the slots of those whom only a turn needs, and costs nothing to build."""

    async def route(self, input: TurnInput) -> Route:
        raise NotImplementedError

    async def judge(self, turn: TurnContext) -> Verdict:
        raise NotImplementedError


class Taking:
    """A job that takes some time and then has read everything and noted it; `error` makes a run fail instead."""

    def __init__(self, clock: SimulatedClock, *triggers: Trigger, id: str = "tidy", takes_s: float = 1.0) -> None:
        self.spec = JobSpec(id=id, summary="Take time", triggers=triggers, outputs=(f"{id}.md",))
        self._clock, self.takes_s = clock, takes_s
        self.started: list[datetime] = []
        self.views: list[JobView] = []
        self.running = self.most_running = 0
        self.error: BaseException | None = None
        self.most_lines = 10_000  # of its document

    async def run(self, view: JobView) -> JobResult:
        self.started.append(self._clock.now())
        self.views.append(view)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            await self._clock.sleep(self.takes_s)
        finally:
            self.running -= 1
        if self.error is not None:
            raise self.error
        lines = view.documents[f"{self.spec.id}.md"].text.splitlines()
        lines += [str(turn.number) for turn in view.turns]
        text = "".join(f"{line}\n" for line in lines[-self.most_lines :])
        writes = (Write(path=f"{self.spec.id}.md", text=text),) if view.turns else ()
        gone = tuple(lines[: -self.most_lines])
        return JobResult(summary="took time", read=len(view.turns), writes=writes, removed=gone)


@asynccontextmanager
async def living(
    home: Path,
    clock: SimulatedClock,
    sessions: Sessions,
    *jobs: Job,
    files: Files | None = None,
    observers: Any = None,
    plugins: Any = None,
    **sections: Any,
) -> AsyncIterator[Runtime]:
    """Be one process on `home` that watches the jobs."""
    found = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home, **sections})
    offered = {
        **construct_shipped("compactor"),
        "stages": filling(router=NoTurns(), judge=NoTurns()),
        "scripted": ScriptedProvider(),
        "own": filling(jobs=list(jobs), observers=observers or []),
        "memory": filling(sessions=sessions),
        **(plugins or {}),
    }
    runtime = assemble(found, plugins=offered, discovers=False, clock=clock, files=files or FastFiles())
    async with runtime:
        await settled()
        yield runtime


async def records(runtime: Runtime, job: str | None = None) -> list[RunRecord]:
    """Return the records of runs, the oldest first."""
    return list(reversed(await runtime.ledger.runs(job)))
