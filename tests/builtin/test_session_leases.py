"""One turn at a time in a session, and what a process leaves when it dies in the middle of one."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.builtin.system import SystemClock
from bumble_core.errors import SessionBusy
from bumble_core.history import repair
from bumble_core.types.messages import assistant
from tests.builtin.storage_child import STAGES
from tests.builtin.storage_processes import running, start, wait_for
from tests.builtin.storage_support import WoundClock, call, input_of, say


@pytest.mark.parametrize("stage", STAGES)
async def test_a_process_killed_in_a_turn_loses_nothing(sessions: SqliteSessions, tmp_path: Path, stage: str) -> None:
    with running("stop_at", tmp_path, stage):
        pass
    async with sessions.open("s", 5):
        session = await sessions.resume("s")
    (turn,) = await sessions.turns()
    said = {"begun": ["u"], "called": ["u", "a", "t", "t"]}.get(stage, ["u", "a", "t", "t"])
    assert [message.role[0] for message in session.view] == said
    assert repair(session.view) == (session.view, ())
    assert turn.status == ("done" if stage == "finished" else "interrupted")


async def test_an_interrupted_turn_keeps_its_results_and_says_what_is_missing(
    sessions: SqliteSessions, tmp_path: Path
) -> None:
    with running("stop_at", tmp_path, "half-answered"):
        pass
    with capture_logs() as logs:
        (turn,) = await sessions.turns()
    results = [result for message in turn.messages for result in message.tool_results]
    assert [(result.call_id, result.status) for result in results] == [("c1", "interrupted"), ("c2", "ok")]
    assert (turn.number, turn.error) == (1, "the process that ran this turn ended before the turn did")
    assert [(entry["event"], entry["turn_id"]) for entry in logs] == [("session.turn_interrupted", "turn_1")]


async def test_every_message_that_was_accepted_before_a_kill_is_there(sessions: SqliteSessions, tmp_path: Path) -> None:
    with running("talk_on", tmp_path) as process:
        assert process.stdout is not None
        accepted = [int(process.stdout.readline()) for _ in range(20)]
    texts = [message.text for message in (await sessions.resume("s")).view]
    assert texts[: accepted[-1] + 2] == ["count", *(f"number {number}" for number in range(accepted[-1] + 1))]


async def test_a_turn_that_a_living_process_runs_is_left_alone(sessions: SqliteSessions, tmp_path: Path) -> None:
    with running("stop_at", tmp_path, "called"):
        assert await sessions.turns() == ()
        with pytest.raises(SessionBusy, match=r"session `s`: another turn holds it.*wait for that turn, cancel it"):
            async with sessions.open("s", 0):
                pass
        with pytest.raises(SessionBusy):
            await sessions.delete("s")


async def test_two_processes_on_one_session_do_not_interleave(sessions: SqliteSessions, tmp_path: Path) -> None:
    wait_for(start("take_turns", tmp_path, "a", "8"), start("take_turns", tmp_path, "b", "8"))
    turns = await sessions.turns()
    assert sorted(turn.id for turn in turns) == sorted(f"{name}_{number}" for name in "ab" for number in range(8))
    assert [turn.number for turn in turns] == list(range(1, 17))
    assert (await sessions.resume("s")).view == tuple(message for turn in turns for message in turn.messages)


async def test_tasks_on_one_session_take_turns_in_the_order_they_came(tmp_path: Path) -> None:
    sessions = SqliteSessions(tmp_path, SystemClock())

    async def one(name: str) -> None:
        async with sessions.open("s", 10):
            await say(sessions, name, turn_id=name)

    await asyncio.gather(*(one(name) for name in "dcba"))
    assert [turn.id for turn in await sessions.turns()] == list("dcba")
    await sessions.aclose()


async def test_waiting_for_a_session_ends_after_the_time_that_was_given(
    sessions: SqliteSessions, clock: WoundClock
) -> None:
    async with sessions.open("s", 0):
        before = clock.monotonic()
        with pytest.raises(SessionBusy):
            async with sessions.open("s", 3):
                pass
        assert clock.monotonic() - before == pytest.approx(3)


async def test_a_cancelled_wait_leaves_the_session_free_for_the_next(tmp_path: Path) -> None:
    sessions = SqliteSessions(tmp_path, SystemClock())

    async def enter() -> None:
        async with sessions.open("s", 10):
            pass

    async with sessions.open("s", 0):
        waiting = asyncio.create_task(enter())
        await asyncio.sleep(0.03)
        waiting.cancel()
    await enter()
    await sessions.aclose()


async def test_the_loop_is_free_while_a_session_is_waited_for(tmp_path: Path) -> None:
    sessions = SqliteSessions(tmp_path, SystemClock())
    async with sessions.open("s", 0):
        started = time.monotonic()
        waiting = asyncio.create_task(sessions.open("s", 0.3).__aenter__())
        await asyncio.sleep(0.01)
        assert time.monotonic() - started < 0.2
        with pytest.raises(SessionBusy):
            await waiting
    await sessions.aclose()


@pytest.mark.parametrize("id", ["a/b/../c", "漢字 🐝", "x" * 5_000, "..", "CON", "nul\0", "half \ud83d"], ids=ascii)
def test_any_session_id_makes_a_safe_lock(tmp_path: Path, clock: WoundClock, id: str) -> None:
    async def hold() -> bool:
        sessions = SqliteSessions(tmp_path / "home", clock)
        async with sessions._leases.hold(f"session:{id}") as held:
            return held

    assert asyncio.run(hold())
    assert [path.parent.name for path in tmp_path.rglob("*.lock")] == ["locks"]


async def test_sessions_of_different_ids_do_not_wait_for_each_other(sessions: SqliteSessions) -> None:
    async with sessions.open("a", 0), sessions.open("b", 0):
        await say(sessions, "hello", session_id="a")


async def test_the_holder_of_a_session_may_delete_it(sessions: SqliteSessions) -> None:
    async with sessions.open("s", 0):
        await say(sessions, "hello")
        assert await sessions.delete("s") == 1


async def test_opening_closes_what_an_earlier_turn_left_open(sessions: SqliteSessions) -> None:
    async with sessions.open("s", 0):
        await sessions.begin(input_of("hello"))
        await sessions.append("turn_1", assistant("", call("c1")))
    async with sessions.open("s", 0):
        view = (await sessions.resume("s")).view
    assert view[-1].tool_results[0].status == "interrupted"
    assert [turn.status for turn in await sessions.turns()] == ["interrupted"]
