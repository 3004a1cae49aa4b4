"""A view is read once and stays in memory, as long as it is what the file holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bumble_core.builtin import kept_views
from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.types.messages import Message, assistant, user
from tests.builtin.storage_support import WoundClock, input_of, say, turn_of


def same(before: tuple[Message, ...], after: tuple[Message, ...]) -> list[bool]:
    return [one is other for one, other in zip(before, after, strict=False)]


async def test_messages_are_the_same_objects_from_turn_to_turn(sessions: SqliteSessions) -> None:
    await say(sessions, "one", turn_id="t1")
    first = (await sessions.resume("s")).view
    written = await say(sessions, "two", turn_id="t2")
    second = (await sessions.resume("s")).view
    assert same(first + written.messages, second) == [True] * 4


async def test_what_another_process_wrote_is_seen(sessions: SqliteSessions, tmp_path: Path, clock: WoundClock) -> None:
    await say(sessions, "one", turn_id="t1")
    first = (await sessions.resume("s")).view
    other = SqliteSessions(tmp_path, clock)
    await say(other, "two", turn_id="t2")
    await other.aclose()
    view = (await sessions.resume("s")).view
    assert [message.text for message in view] == ["one", "re: one", "two", "re: two"]
    assert same(first, view) == [True, True]


async def test_a_message_that_another_process_changed_is_read_again(sessions: SqliteSessions, tmp_path: Path) -> None:
    await say(sessions, "one")
    await sessions.resume("s")
    with sqlite3.connect(tmp_path / "sessions.sqlite3") as other:
        other.execute("UPDATE messages SET body = replace(body, 'one', 'two')")
    other.close()
    assert [message.text for message in (await sessions.resume("s")).view] == ["two", "re: two"]


async def test_a_message_replaced_in_an_open_turn_is_read_again(sessions: SqliteSessions) -> None:
    await sessions.begin(input_of("go"))
    said = assistant("half")
    await sessions.append("turn_1", said)
    await sessions.resume("s")
    await sessions.append("turn_1", said.model_copy(update={"parts": assistant("whole").parts}))
    assert [message.text for message in (await sessions.resume("s")).view] == ["go", "whole"]


async def test_a_deleted_session_is_empty_and_can_begin_anew(sessions: SqliteSessions) -> None:
    await say(sessions, "one", turn_id="t1")
    await sessions.resume("s")
    await sessions.delete("s")
    assert (await sessions.resume("s")).view == ()
    await say(sessions, "two", turn_id="t2")
    assert [message.text for message in (await sessions.resume("s")).view] == ["two", "re: two"]


async def test_a_compacted_view_keeps_the_messages_that_it_keeps(sessions: SqliteSessions) -> None:
    await say(sessions, "one", turn_id="t1")
    before = (await sessions.resume("s")).view
    input, summary = input_of("two", "t2"), user("in short", source="summary")
    await sessions.begin(input)
    await sessions.finish(turn_of(input), (summary, before[1], input.message))
    after = (await sessions.resume("s")).view
    assert same((summary, before[1], input.message), after) == [True] * 3


@pytest.mark.parametrize("session_id", ["other", "s"])
async def test_the_view_used_last_is_kept_when_there_are_too_many(sessions: SqliteSessions, session_id: str) -> None:
    views = kept_views.KeptViews(most_messages=3)
    for name in ("s", "other"):
        await say(sessions, "one", session_id=name, turn_id=name)
    first = {name: (await sessions._database.run(views.resume, name)).view for name in ("s", "other")}
    again = (await sessions._database.run(views.resume, session_id)).view
    assert same(first[session_id], again) == [session_id == "other"] * 2
