"""Conversations made at random: whatever happens in a turn, the laws hold and the next turn works."""

from __future__ import annotations

import asyncio
import gc
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from bumble_core.loop import limits_of
from tests.depth import IS_DEEP, examples
from tests.held import CALLS, MISHAPS, WORDS, Reply
from tests.killable import DEADLINES_S, Kit, Process, SkippingLoop
from tests.turn_laws import Laws

MACHINES, STEPS_A_MACHINE = examples(500, 5_000), 50
TIMEOUT_S = examples(900, 10_800)  # on a machine that has other work to do
MOST_OPEN = 3  # turns of a session, the queued ones too
MEMORY = Path("/dev/shm")  # where what is synced costs nothing
SESSIONS = st.sampled_from(("a", "b"))
CALLED = st.lists(st.sampled_from(tuple(CALLS)), min_size=1, max_size=3).map(tuple)
REPLIES = st.one_of(
    st.builds(Reply, kind=st.sampled_from(WORDS + MISHAPS)), st.builds(Reply, kind=st.just("tools"), tools=CALLED)
)
TICKS = st.integers(0, 60)  # rounds of the event loop, about as many as a step takes


class Conversations(RuleBasedStateMachine):
    """One home, two sessions, and everything that can go wrong in a turn; a rule is one event."""

    def __init__(self, kit: Kit) -> None:
        super().__init__()
        self.kit, self.laws, self.numbers = kit, Laws(), count()
        self.folder = Path(tempfile.mkdtemp(prefix="bumble-machine-", dir=MEMORY if MEMORY.is_dir() else None))
        self.runner = asyncio.Runner(loop_factory=SkippingLoop)
        self.process = self.started(self.folder / "home")

    @rule(session=SESSIONS)
    def say(self, session: str) -> None:
        async def said() -> None:
            if len(self.process.open_turns(session)) < MOST_OPEN:
                self.process.say(session, self.words())
            await self.process.settled()

        self.run(said())

    @rule(session=SESSIONS)
    def steer(self, session: str) -> None:
        for turn in self.process.open_turns(session)[:1]:
            turn.steer(self.words())

    @rule(session=SESSIONS, kind=st.sampled_from(WORDS))
    def reply_in_words(self, session: str, kind: str) -> None:
        self.reply(session, Reply(kind))

    @rule(session=SESSIONS, tools=CALLED, is_endless=st.sampled_from((False,) * 7 + (True,)))
    def call_tools(self, session: str, tools: tuple[str, ...], is_endless: bool) -> None:
        if is_endless:
            self.run(self.never_stop(session, Reply("tools", tools)))
        else:
            self.reply(session, Reply("tools", tools))

    @rule(session=SESSIONS, kind=st.sampled_from(MISHAPS))
    def reply_badly(self, session: str, kind: str) -> None:
        self.reply(session, Reply(kind))

    @rule(session=SESSIONS, said=st.sampled_from(("fine", "fails")), place=st.integers(0, 2))
    def end_a_call(self, session: str, said: str, place: int) -> None:
        async def ended() -> None:
            if working := self.process.held.working[session]:
                working.pop(place % len(working)).set_result(said)
            await self.process.settled()

        self.run(ended())

    @rule(session=SESSIONS, place=st.integers(0, MOST_OPEN - 1))
    def cancel(self, session: str, place: int) -> None:
        async def cancelled() -> None:
            for turn in self.process.open_turns(session)[place : place + 1]:
                turn.cancel()
            await self.process.settled()

        self.run(cancelled())

    @rule(session=SESSIONS, reply=REPLIES, ticks=TICKS, how=st.sampled_from(("cancel", "cancel", "kill", "close")))
    def end_in_a_step(self, session: str, reply: Reply, ticks: int, how: str) -> None:
        """Cancel what there is of a session, or end the process, killed or closed, and begin another one."""
        home = self.folder / f"home {next(self.numbers)}" if how == "kill" else self.process.home

        async def ended() -> None:
            await self.amid(session, reply, ticks)
            if how == "kill":
                await self.process.killed(home)
                self.laws.killed()
            elif how == "close":
                await self.process.closed()
            else:
                await self.process.cancelled(session)
            self.check_turns()

        self.run(ended())
        if how != "cancel":
            self.process = self.started(home)

    @rule(which=st.sampled_from(("tool", "tool", "tool", "turn")))
    def let_time_pass(self, which: str) -> None:
        self.run(self.process.time_passes(DEADLINES_S[which] + 1, ends_turns=which == "turn"))

    @invariant()
    def laws_hold(self) -> None:
        assert self.laws.broken == []
        self.check_turns()

    def teardown(self) -> None:
        try:
            self.run(self.ending())
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    async def ending(self) -> None:
        """Whatever has happened, the next turn works, all is on disk and nothing is left behind."""
        for session in ("a", "b"):
            await self.process.cancelled(session)
        self.check_turns()
        for session in ("a", "b"):
            await self.process.asked(session, self.words)
            self.process.answered(session, Reply("text"))
        await self.process.settled()
        last = [turn.ended.result() for turn in self.process.ended()]
        assert [(turn.status, turn.text) for turn in last] == [("done", "That is all.")] * 2
        for session in ("a", "b"):
            kept = self.process.runtime.sessions
            view = (await kept.resume(session)).view
            self.laws.check_log(session, await kept.turns(session_id=session), view)
        await self.process.closed()
        assert [task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
        assert self.laws.broken == []

    def run(self, what: Coroutine[Any, Any, None]) -> None:
        self.runner.run(what)

    def reply(self, session: str, reply: Reply) -> None:
        async def replied() -> None:
            await self.process.asked(session, self.words)
            self.process.answered(session, reply)
            await self.process.settled()

        self.run(replied())

    async def never_stop(self, session: str, reply: Reply) -> None:
        """Reply the same until the turn ends: the cap ends it, or a call of `end_turn` does."""
        await self.process.asked(session, self.words)
        for turn in self.process.open_turns(session)[:1]:
            while not turn.ended.done():
                self.process.answered(session, reply)
                await self.process.settled()
                await self.process.worked(session)
            assert turn.ended.result().status in ("capped", "done")

    async def amid(self, session: str, reply: Reply, ticks: int) -> None:
        """Let the model reply, and come back while the turn goes on with that."""
        await self.process.asked(session, self.words)
        self.process.answered(session, reply)
        for _ in range(ticks):
            await asyncio.sleep(0)

    def check_turns(self) -> None:
        for turn in self.process.ended():
            self.laws.check_turn(turn.ended.result(), turn.steered, limits_of(self.process.runtime.settings))

    def started(self, home: Path) -> Process:
        return self.kit.process(home, self.laws)

    def words(self) -> str:
        return f"{next(self.numbers):04}: and now?"


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _wait_for(fact: Callable[[], bool]) -> None:
    moment = threading.Event()
    for _ in range(200):
        if fact():
            return
        moment.wait(0.01)
    raise AssertionError([thread.name for thread in threading.enumerate()])


@pytest.mark.timeout(TIMEOUT_S)
def test_the_laws_hold_whatever_happens_in_a_turn() -> None:
    files, threads, kit = _open_files(), threading.active_count(), Kit()
    with structlog.testing.capture_logs():
        run_state_machine_as_test(
            lambda: Conversations(kit),
            settings=settings(
                max_examples=MACHINES,
                derandomize=not IS_DEEP,  # the same machines in every ordinary run, others in each deep one
                stateful_step_count=STEPS_A_MACHINE,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    _wait_for(lambda: threading.active_count() <= threads)
    gc.collect()
    assert _open_files() <= files
