"""Search takes any text for what it is."""

from __future__ import annotations

import pytest

from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.types.messages import Message, Text, Thinking, assistant
from tests.builtin.storage_support import answer, call, input_of, say

SAID = (
    "I write C++ and C.",
    'He said "quoted" twice',
    "漢字かな交じり文、日本の",
    "NEAR(a b) AND OR NOT",
    "done to 100% of it",
    "snake_case and a*b",
    "a family 👩‍👩‍👧 and 🐝",
    "line one\nline two",
    "Ärger über STRASSE",
    "nul \0 byte",
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("C++", [0]),
        ('"quoted"', [1]),
        ("漢字", [2]),
        ("日本", [2]),
        ("字", [2]),
        ("漢字かな", [2]),
        ("NEAR(", [3]),
        ("near(A b) and", [3]),
        ("100%", [4]),
        ("%", [4]),
        ("_", [5]),
        ("a*b", [5]),
        ("🐝", [6]),
        ("👩‍👩‍👧", [6]),
        ("one\nline", [7]),
        ("ärger ÜBER", [8]),
        ("är", [8]),
        ("nul \0 byte", [9]),
        ("C+", [0]),
        ("said OR write", []),
        ("quot*", []),
        ("text:C", []),
        ("half \ud83d", []),
        ("", []),
        (" \n ", []),
    ],
    ids=ascii,
)
async def test_any_text_is_literal(sessions: SqliteSessions, text: str, found: list[int]) -> None:
    for number, words in enumerate(SAID):
        await say(sessions, "-", assistant(words), turn_id=str(number))
    hits = await sessions.search(text)
    assert sorted(int(hit.turn_id) for hit in hits) == found
    assert all(text.casefold() in hit.excerpt.casefold() for hit in hits)


@pytest.mark.parametrize("text", ["bee", "be"], ids=["by-the-index", "without-the-index"])
async def test_the_newest_come_first_within_session_and_limit(sessions: SqliteSessions, text: str) -> None:
    for number in range(6):
        await say(sessions, "a bee", assistant("-"), turn_id=f"t{number}", session_id="odd" if number % 2 else "even")
    assert [hit.turn_id for hit in await sessions.search(text, limit=3)] == ["t5", "t4", "t3"]
    assert [hit.turn_id for hit in await sessions.search(text, session_id="even", limit=2)] == ["t4", "t2"]


@pytest.mark.parametrize("text", ["needle", "ne"], ids=["by-the-index", "without-the-index"])
async def test_the_excerpt_shows_what_stands_around(sessions: SqliteSessions, text: str) -> None:
    await say(sessions, f"{'x' * 500} needle {'y' * 500}")
    hit = (await sessions.search(text))[-1]
    assert hit.excerpt.startswith("…xxx")
    assert " needle y" in hit.excerpt
    assert len(hit.excerpt) < 140


async def test_thinking_and_calls_are_not_searched_but_results_are(sessions: SqliteSessions) -> None:
    thought = Message(role="assistant", parts=(Thinking(text="secretly"), Text(text="aloud")), source="model")
    await say(sessions, "go", assistant("", call("c1", "lookup")), answer("c1", "resulting"), thought)
    assert [len(await sessions.search(text)) for text in ("secretly", "lookup", "resulting", "aloud")] == [0, 0, 1, 1]


@pytest.mark.parametrize("text", ["needle", "ne"], ids=["by-the-index", "without-the-index"])
async def test_what_is_said_in_a_turn_that_still_runs_is_found_among_the_rest(
    sessions: SqliteSessions, text: str
) -> None:
    await sessions.begin(input_of("a needle of old", turn_id="open", session_id="a"))
    await say(sessions, "another needle", turn_id="done", session_id="b")
    await sessions.append("open", assistant("the last needle"))
    found = [hit.excerpt for hit in await sessions.search(text)]
    assert found == ["the last needle", "re: another needle", "another needle", "a needle of old"]
    assert {hit.turn_id for hit in await sessions.search(text, session_id="b")} == {"done"}
