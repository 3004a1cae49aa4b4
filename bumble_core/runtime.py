"""Run turns and jobs with the assembled stages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypedDict, Unpack

import structlog

from .compacting import compact_session
from .contract import FAULTS, kept
from .errors import ConfigError
from .home import open_home
from .jobs.controller import JobController
from .parts import Parts
from .ports import Documents, JobLedger, ModelChoices, Provider, Sessions, Surface, Tool
from .sync_door import LoopThread
from .turn_handle import TurnHandle
from .turn_run import never_begun, run_turn
from .types.base import new_id
from .types.compaction import Compaction
from .types.events import Event, TurnFinished
from .types.inference import ModelRef
from .types.messages import user
from .types.plugins import Choice, PluginReport
from .types.settings import Settings
from .types.turn import GatePolicy, Origin, Turn, TurnInput

log = structlog.get_logger(__name__)

_LEASE_WAIT_S = 600.0  # as long as a turn may take by default: a queued turn waits for the one before it
_JOB_DRAIN_S = 5.0
_LONGEST_CLOSE_S = 10.0

WhenBusy = Literal["queue", "steer"]


class HowToAnswer(TypedDict, total=False):
    """What may be said of one turn: the keyword arguments of `Runtime.start`."""

    session: str
    surface: str | Surface
    origin: Origin
    models: tuple[ModelRef, ...]
    when_busy: WhenBusy
    gate: GatePolicy | None


class Runtime:
    """An assembled agent: an async context manager, or a plain one for the synchronous door.

    `run_jobs` is off for one-shot programs: what is due stays due.
    """

    def __init__(self, parts: Parts, *, run_jobs: bool = True) -> None:
        self.parts = parts
        self.run_jobs = run_jobs
        self.settings: Settings = parts.settings
        self.home: Path = parts.home
        self.stages_chosen: tuple[Choice, ...] = parts.chosen
        self.reports: tuple[PluginReport, ...] = parts.reports
        self.providers: Mapping[str, Provider] = parts.providers
        self.tools: Mapping[str, Tool] = parts.tools
        self.surfaces: Mapping[str, Surface] = parts.surfaces
        self.sessions: Sessions = parts.sessions
        self.documents: Documents = parts.documents
        self.ledger: JobLedger = parts.ledger
        self.choices: ModelChoices = parts.choices
        self.jobs: JobController = parts.jobs
        self._turns: dict[asyncio.Task[Turn], TurnHandle] = {}
        self._is_ready = False
        self._getting_ready = asyncio.Lock()  # two first turns at once open the home once
        self._door = LoopThread(self.aclose)

    def start(
        self,
        text: str,
        *,
        session: str = "default",
        surface: str | Surface = "none",
        origin: Origin = "user",
        models: tuple[ModelRef, ...] = (),
        when_busy: WhenBusy = "queue",
        gate: GatePolicy | None = None,
    ) -> TurnHandle:
        """Begin a turn on the running event loop.

        `models` is the order for this turn alone; empty takes the user's choice, then `agent.models`. Where a turn of
        the same session still runs, `queue` has the new one wait for it; `steer` adds `text` to the one that runs in
        this runtime instead and returns its handle, as long as it listens: it answers where it was asked. `gate` is
        how the turn's endings are judged; None leaves it to the settings and the surface.

        Raises:
            ConfigError: no model is configured, or there is no such surface.
            ContractError: the surface given is none.
        """
        place = self._surface(surface)
        if when_busy == "steer" and (running := self._steered(session, text)) is not None:
            return running
        order = models or self.choices.chosen("interactive") or self.settings.agent.models
        if not order:
            raise ConfigError("agent.models: no model is configured; name one, for example `local:smollm2`")
        self._check_providers(order)
        handle = TurnHandle(session)
        input = TurnInput(
            id=new_id("turn"),
            session_id=session,
            message=user(text),
            origin=origin,
            surface=place.name,
            gate=gate or self.settings.gate.policy_for(place.name),
            models=order,
            started=self.parts.clock.now(),
        )
        task = asyncio.create_task(self._run(input, place, handle), name=f"turn:{input.id}")
        handle.attach(task)
        self._turns[task] = handle
        task.add_done_callback(self._turns.pop)
        return handle

    async def answer(self, text: str, **how: Unpack[HowToAnswer]) -> Turn:
        """Run one turn to its end and return its record; see `start` for the arguments."""
        return await self.start(text, **how).result()

    async def stream(self, text: str, **how: Unpack[HowToAnswer]) -> AsyncGenerator[Event, None]:
        """Run one turn and yield its events, `TurnFinished` last. Leaving early cancels the turn, if it began here."""
        running = tuple(self._turns.values())
        handle = self.start(text, **how)
        try:
            async with aclosing(handle.events()) as events:
                async for event in events:
                    yield event
        finally:
            if handle not in running:
                handle.cancel()

    def answer_sync(self, text: str, **how: Unpack[HowToAnswer]) -> Turn:
        """`answer` for programs without an event loop; all calls share one loop in a thread."""
        return self._door.run(self.answer(text, **how))

    async def compact(
        self,
        session: str = "default",
        focus: str = "",
        models: tuple[ModelRef, ...] = (),
        wait_s: float = _LEASE_WAIT_S,
    ) -> Compaction:
        """Shorten what the model sees of a session, keeping what `focus` names; see `compact_session`."""
        await self.ready()
        return await compact_session(self.parts, session, focus, models, wait_s)

    async def ready(self) -> None:
        """Open the home and close what a dead process left open; every turn does this first, once."""
        async with self._getting_ready:
            if self._is_ready:
                return
            await asyncio.to_thread(open_home, self.home, self.parts.files)
            self._is_ready = True
            if self.run_jobs:
                await self.jobs.begin()

    async def aclose(self) -> None:
        """Cancel running turns, wait briefly for jobs, close every occupant that can be closed."""
        turns = dict(self._turns)
        for handle in turns.values():
            handle.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
        await self.jobs.aclose()
        await self.parts.job_runner.drain(_JOB_DRAIN_S)
        for occupant in reversed(self.parts.occupants):
            await _close(occupant)

    async def __aenter__(self) -> Self:
        await self.ready()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._door.stop()

    def _steered(self, session: str, text: str) -> TurnHandle | None:
        """Return the turn of `session` that took the words."""
        mine = (handle for handle in self._turns.values() if handle.session == session)
        return next((handle for handle in mine if handle.steer(text)), None)

    def _check_providers(self, order: tuple[ModelRef, ...]) -> None:
        """Refuse an order in which every model names a provider that is not there, with what brings it."""
        if any(ref.provider is None or ref.provider in self.providers for ref in order):
            return
        reports = {report.name: report for report in self.reports if report.reason}
        lacking = [reports[name] for ref in order if (name := ref.provider or "") in reports]
        if lacking:
            lines = [f"`{report.name}`: {report.reason}: {report.remedy}" for report in lacking]
            raise ConfigError("no provider of the models is there; " + "; ".join(lines))

    def _surface(self, surface: str | Surface) -> Surface:
        if not isinstance(surface, str):
            return kept(surface, Surface, "`surface`")
        if surface not in self.surfaces:
            raise ConfigError(f"no surface `{surface}`; installed: {', '.join(self.surfaces) or 'none'}")
        return self.surfaces[surface]

    async def _run(self, input: TurnInput, surface: Surface, handle: TurnHandle) -> Turn:
        def emit(event: Event) -> None:
            self.parts.broadcast(event)
            handle.notice(event)

        has_begun = False
        handle.release()
        try:
            await self.ready()
            with structlog.contextvars.bound_contextvars(turn_id=input.id):
                async with self.sessions.open(input.session_id, _LEASE_WAIT_S):
                    session = await self.sessions.resume(input.session_id)
                    input = input.model_copy(update={"history": session.view})
                    has_begun = True
                    turn = await run_turn(self.parts, input, surface, handle, emit)
                emit(TurnFinished(turn))
        except asyncio.CancelledError:
            if has_begun:
                raise
            turn = never_begun(input, self.parts.clock.now())
            handle.notice(TurnFinished(turn))
            return turn
        self.jobs.notice()
        return turn


async def _close(occupant: object) -> None:
    close = getattr(occupant, "aclose", None)
    if close is None:
        return
    try:
        async with asyncio.timeout(_LONGEST_CLOSE_S):
            await close()
    except FAULTS as error:
        log.warning("runtime.close_failed", occupant=type(occupant).__name__, error=repr(error))
