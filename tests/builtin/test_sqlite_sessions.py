"""What a conversation keeps, in which order, at what cost."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from bumble_core.builtin import session_log, session_schema
from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.errors import ContractError, HomeError, RunError
from bumble_core.ports import Sessions
from bumble_core.types.messages import Message, Text, ToolResult, assistant, tool_message, user
from tests.builtin.storage_support import NOON, WoundClock, answer, call, input_of, say, turn_of


def test_it_fills_the_port_and_touches_nothing_before_its_first_use(tmp_path: Path, clock: WoundClock) -> None:
    assert isinstance(SqliteSessions(tmp_path / "home", clock), Sessions)
    assert not (tmp_path / "home").exists()


async def test_a_turn_comes_back_as_it_was_finished(sessions: SqliteSessions) -> None:
    finished = await say(sessions, "hello", assistant("", call("c1")), answer("c1"), assistant("done"))
    assert finished.number == 1
    assert await sessions.turns() == (finished,)
    assert (await sessions.resume("s")).view == finished.messages


async def test_an_unknown_session_is_empty(sessions: SqliteSessions) -> None:
    session = await sessions.resume("nobody")
    assert (session.view, session.turn_count) == ((), 0)


async def test_turns_are_numbered_at_their_end_without_gaps(sessions: SqliteSessions) -> None:
    await sessions.begin(input_of("slow", "a", "one"))
    await say(sessions, "fast", turn_id="b", session_id="two")
    await sessions.finish(turn_of(input_of("slow", "a", "one")), None)
    assert [(turn.id, turn.number) for turn in await sessions.turns()] == [("b", 1), ("a", 2)]


async def test_turns_can_be_asked_for_by_number_session_and_limit(sessions: SqliteSessions) -> None:
    for number in range(1, 6):
        await say(sessions, "x", turn_id=f"t{number}", session_id="odd" if number % 2 else "even")
    assert [turn.number for turn in await sessions.turns(after=1, session_id="odd", limit=1)] == [3]
    assert [turn.number for turn in await sessions.turns(after=3)] == [4, 5]
    assert await sessions.count(after=2) == 3


async def test_results_appended_as_they_came_are_resumed_in_the_order_of_the_calls(sessions: SqliteSessions) -> None:
    await sessions.begin(input_of("go"))
    for message in (assistant("", call("c1"), call("c2")), answer("c2"), answer("c1")):
        await sessions.append("turn_1", message)
    with capture_logs() as logs:
        view = (await sessions.resume("s")).view
    assert [message.tool_results[0].call_id for message in view[2:]] == ["c1", "c2"]
    assert logs == []


async def test_messages_that_were_not_appended_are_kept_by_finish(sessions: SqliteSessions) -> None:
    input, closing = input_of("go"), assistant("I stop here.")
    await sessions.begin(input)
    await sessions.finish(turn_of(input, closing), None)
    assert (await sessions.resume("s")).view[-1] == closing


@pytest.mark.parametrize("step", ["append", "finish"])
async def test_a_turn_that_is_not_open_is_refused(sessions: SqliteSessions, step: str) -> None:
    turn = await say(sessions, "hello")
    with pytest.raises(ContractError, match="turn `turn_1` is not open"):
        await (sessions.append("turn_1", user("more")) if step == "append" else sessions.finish(turn, None))


async def test_a_turn_begins_once(sessions: SqliteSessions) -> None:
    await sessions.begin(input_of("hello"))
    with pytest.raises(ContractError, match="session `s` has a turn `turn_1` already"):
        await sessions.begin(input_of("hello"))


async def test_sessions_are_listed_by_last_use_with_the_first_line_as_title(
    sessions: SqliteSessions, clock: WoundClock
) -> None:
    await say(sessions, "\n  first words \nmore", turn_id="a", session_id="old")
    clock.at += timedelta(minutes=1)
    await say(sessions, "x" * 200, turn_id="b", session_id="new")
    new, old = await sessions.list()
    assert (new.id, new.title, old.id, old.title, old.turn_count) == ("new", "x" * 80, "old", "first words", 1)
    assert new.updated == NOON + timedelta(minutes=1)


async def test_half_an_emoji_of_a_model_is_stored(sessions: SqliteSessions) -> None:
    turn = await say(sessions, "hello", assistant("broken \ud83d here"))
    assert await sessions.turns() == (turn,)
    assert len(await sessions.search("broken")) == 1


async def test_after_compaction_the_view_is_what_finish_was_given_and_what_came_after(sessions: SqliteSessions) -> None:
    first = await say(sessions, "old", turn_id="a")
    summary, kept = user("In short: old.", source="summary"), input_of("new", "b").message
    await sessions.begin(input_of("new", "b"))
    await sessions.finish(turn_of(input_of("new", "b")), (summary, kept))
    last = await say(sessions, "newer", turn_id="c")
    assert (await sessions.resume("s")).view == (summary, kept, *last.messages)
    assert (await sessions.turns())[0] == first


async def test_a_shortened_message_is_short_in_the_view_and_whole_in_the_log(sessions: SqliteSessions) -> None:
    long = assistant("word " * 100)
    await say(sessions, "old", long, turn_id="a")
    short = long.model_copy(update={"parts": (Text(text="word…"),)})
    await sessions.begin(input_of("new", "b"))
    await sessions.finish(turn_of(input_of("new", "b")), (user("old"), short))
    assert (await sessions.resume("s")).view[1] == short
    assert await sessions.originals("s", [long.id, "unknown"]) == {long.id: long}


async def test_a_second_compaction_stands_on_the_first(sessions: SqliteSessions) -> None:
    for number in (1, 2):
        input = input_of("go", f"t{number}")
        summary = user(f"summary {number}", source="summary")
        await sessions.begin(input)
        await sessions.finish(turn_of(input), (summary, input.message))
    assert [message.text for message in (await sessions.resume("s")).view] == ["summary 2", "go"]


async def test_a_damaged_history_is_resumed_valid_and_a_warning_says_how(sessions: SqliteSessions) -> None:
    await sessions.begin(input_of("u1"))
    asked, orphan = assistant("", call("x1")), answer("zz", "nobody asked")
    for message in (asked, user("u2"), orphan):
        await sessions.append("turn_1", message)
    with capture_logs() as logs:
        view = (await sessions.resume("s")).view
    assert [message.role for message in view] == ["user", "assistant", "tool", "user"]
    assert (view[2].tool_results[0].call_id, view[2].tool_results[0].status) == ("x1", "interrupted")
    assert [(entry["event"], entry["log_level"]) for entry in logs] == [("session.repaired", "warning")]
    assert len(logs[0]["problems"]) == 2


async def test_deleting_a_session_leaves_nothing_of_it(sessions: SqliteSessions, tmp_path: Path) -> None:
    await say(sessions, "my secret number", turn_id="a", session_id="gone")
    await say(sessions, "something else", turn_id="b", session_id="kept")
    assert await sessions.delete("gone") == 1
    assert await sessions.search("secret") == ()
    assert [session.id for session in await sessions.list()] == ["kept"]
    await sessions.aclose()
    assert b"secret" not in (tmp_path / "sessions.sqlite3").read_bytes()


async def test_numbers_of_deleted_turns_are_not_given_again(sessions: SqliteSessions) -> None:
    await say(sessions, "x", turn_id="a", session_id="gone")
    await sessions.delete("gone")
    assert (await say(sessions, "y", turn_id="b")).number == 2
    assert await sessions.count() == 1


async def test_restored_turns_follow_under_new_numbers_and_only_once(sessions: SqliteSessions) -> None:
    await say(sessions, "here", turn_id="a")
    foreign = turn_of(input_of("there", "b", "elsewhere"), assistant("yes")).model_copy(update={"number": 70})
    await sessions.restore("s", (foreign,))
    await sessions.restore("s", (foreign,))
    assert [(turn.id, turn.session_id, turn.number) for turn in await sessions.turns()] == [
        ("a", "s", 1),
        ("b", "s", 2),
    ]
    assert (await sessions.resume("s")).view[2:] == foreign.messages
    assert len(await sessions.search("there")) == 1


async def test_closing_twice_is_one_close_and_a_later_call_opens_again(sessions: SqliteSessions) -> None:
    await say(sessions, "hello")
    await sessions.aclose()
    await sessions.aclose()
    assert (await sessions.resume("s")).turn_count == 1


async def test_keys_of_another_version_are_ignored_at_every_level(sessions: SqliteSessions, tmp_path: Path) -> None:
    turn = await say(sessions, "hello")
    with sqlite3.connect(tmp_path / "sessions.sqlite3") as other:
        other.execute("UPDATE turns SET record = json_set(record, '$.mood', 'good', '$.usage.carbon', 3)")
        other.execute("UPDATE messages SET body = json_set(body, '$.parts[0].tone', 'warm')")
    other.close()
    assert await sessions.turns() == (turn,)
    assert (await sessions.resume("s")).view == turn.messages


async def test_a_record_that_cannot_be_read_is_passed_over_with_a_warning(
    sessions: SqliteSessions, tmp_path: Path
) -> None:
    await say(sessions, "hello", turn_id="a")
    await say(sessions, "again", turn_id="b")
    with sqlite3.connect(tmp_path / "sessions.sqlite3") as other:
        other.execute("UPDATE turns SET record = json_set(record, '$.status', 'dreamt') WHERE id = 'a'")
    other.close()
    with capture_logs() as logs:
        assert [turn.id for turn in await sessions.turns()] == ["b"]
    assert [(entry["event"], entry["problem"]) for entry in logs] == [("session.turn_skipped", "status: literal_error")]


async def test_a_file_of_a_later_version_is_refused(sessions: SqliteSessions, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sessions.sqlite3") as other:
        other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(HomeError, match="schema 7, and this version of bumble_core knows 1"):
        await sessions.list()


async def test_a_file_that_is_no_database_is_named(sessions: SqliteSessions, tmp_path: Path) -> None:
    (tmp_path / "sessions.sqlite3").write_bytes(b"not a database at all" * 100)
    with pytest.raises(HomeError, match=r"sessions\.sqlite3` cannot be used: file is not a database; if the file"):
        await sessions.list()


async def test_an_id_that_sqlite_cannot_hold_is_an_error_of_ours(sessions: SqliteSessions) -> None:
    with pytest.raises(RunError, match="surrogates not allowed"):
        await sessions.resume("half \ud83d")


async def test_the_event_loop_runs_on_while_the_file_is_locked(sessions: SqliteSessions, tmp_path: Path) -> None:
    await sessions.list()
    other = sqlite3.connect(tmp_path / "sessions.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = asyncio.create_task(sessions.begin(input_of("hello")))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()
    await waiting


def test_the_cost_of_a_turn_does_not_grow_with_the_history(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "sessions.sqlite3", isolation_level=None)
    session_schema.prepare(connection)
    few = _work_of_a_turn(connection, "a")
    past = tuple(turn_of(input_of("x", f"p{number}"), assistant("y")) for number in range(1_000))
    session_log.restore(connection, "s", past)
    assert _work_of_a_turn(connection, "b") == few
    connection.close()


def _work_of_a_turn(connection: sqlite3.Connection, turn_id: str) -> tuple[int, int]:
    """Count the statements of one turn and the rows of the log that it wrote."""
    statements: list[str] = []
    (rows,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    connection.set_trace_callback(lambda text: None if text.startswith("--") else statements.append(text))
    input = input_of("hello", turn_id)
    session_log.begin(connection, input)
    session_log.append(connection, turn_id, (assistant("hi").model_copy(update={"id": "hi"}),), NOON)
    session_log.finish(connection, turn_of(input, assistant("hi").model_copy(update={"id": "hi"})), None, NOON)
    connection.set_trace_callback(None)
    (after,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    return len(statements), after - rows


async def test_what_a_tool_put_in_front_of_the_user_is_found(sessions: SqliteSessions) -> None:
    said = tool_message(ToolResult(call_id="c1", name="say", content="delivered", said="the bees are out"))
    await say(
        sessions, "go", assistant("", call("c1", "say")), said, Message(role="assistant", parts=(), source="model")
    )
    assert [hit.message_id for hit in await sessions.search("BEES")] == [said.id]


async def test_a_message_appended_again_takes_the_place_of_the_first(sessions: SqliteSessions) -> None:
    input, first = input_of("go"), assistant("first")
    await sessions.begin(input)
    await sessions.append("turn_1", first)
    await sessions.append("turn_1", first.model_copy(update={"parts": (Text(text="second"),)}))
    assert [message.text for message in (await sessions.resume("s")).view] == ["go", "second"]
    assert [hit.excerpt for hit in await sessions.search("first")] == []


async def test_older_turns_that_are_restored_do_not_make_a_session_older(sessions: SqliteSessions) -> None:
    await say(sessions, "today", turn_id="new")
    (before,) = await sessions.list()
    long_ago = {"id": "old", "started": NOON - timedelta(days=900), "finished": NOON - timedelta(days=900)}
    await sessions.restore("s", (turn_of(input_of("then", "old")).model_copy(update=long_ago),))
    (after,) = await sessions.list()
    assert (after.updated, after.turn_count) == (before.updated, 2)


async def test_a_session_begun_after_one_of_its_name_was_deleted_is_empty(sessions: SqliteSessions) -> None:
    await say(sessions, "old", turn_id="a")
    await sessions.resume("s")
    await sessions.delete("s")
    await sessions.begin(input_of("new", "b"))
    assert [message.text for message in (await sessions.resume("s")).view] == ["new"]


async def test_a_restore_that_fails_leaves_nothing_of_it(sessions: SqliteSessions) -> None:
    good, bad = turn_of(input_of("good", "a")), turn_of(input_of("bad", "\ud800"))
    with pytest.raises(RunError, match="surrogates"):
        await sessions.restore("s", (good, bad))
    assert (await sessions.turns(), await sessions.list()) == ((), ())


async def test_words_that_did_not_arrive_are_not_told_after_an_interruption(
    sessions: SqliteSessions, tmp_path: Path, clock: WoundClock
) -> None:
    await sessions.begin(input_of("go"))
    said = {"c1": "ok", "c2": "error"}
    await sessions.append("turn_1", assistant("", *(call(id) for id in said)))
    for id, status in said.items():
        result = {"call_id": id, "name": "say", "content": "", "said": f"words of {id}", "status": status}
        await sessions.append("turn_1", tool_message(ToolResult.model_validate(result)))
    await sessions.aclose()
    (turn,) = await sessions.turns()
    assert (turn.status, turn.delivered) == ("interrupted", ("words of c1",))
