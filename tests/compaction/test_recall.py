"""The tool `recall` finds what was said before, and is there only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from bumble_compactor.recall import terms_of

from bumble_core import assistant
from tests.pieces import calling, contents
from tests.shipped import construct_shipped

Build = Callable[..., Any]
WITH_RECALL = construct_shipped("compactor", compactor={"recall": True})


async def recalled(runtime: Build, query: str, *said: str) -> str:
    """Say some things, each answered, then have the model call `recall`; return what it was given."""
    answers = [assistant(f"noted: {text}"[:20]) for text in said]
    replies = [*answers, calling("recall", query=query), assistant("so it was")]
    built, _ = runtime(*replies, plugins=WITH_RECALL)
    async with built:
        for text in said:
            await built.answer(text)
        turn = await built.answer(f"what about this: {query}")
    (found,) = contents(turn.messages)
    return found


async def test_words_that_stood_apart_are_found(runtime: Build) -> None:
    found = await recalled(runtime, "port of the staging server", "The staging server listens on port 8081.", "Tea?")
    assert "user: The staging server listens on port 8081." in found
    assert "Tea?" not in found


async def test_a_question_without_blanks_is_found_by_pieces(runtime: Build) -> None:
    found = await recalled(runtime, "茶馆的开门时间是什么", "茶馆的开门时间改到早上七点半。")
    assert "早上七点半" in found


async def test_the_question_itself_is_not_what_is_recalled(runtime: Build) -> None:
    assert await recalled(runtime, "zeppelin", "Hello.") == "Nothing earlier in this conversation holds these words."


async def test_a_long_message_is_shown_around_the_place(runtime: Build) -> None:
    found = await recalled(runtime, "heron", "word " * 400 + "the code word is heron " + "word " * 400)
    assert "the code word is heron" in found
    assert len(found) < 900


async def test_only_this_session_is_looked_through(runtime: Build) -> None:
    built, _ = runtime(assistant("a"), calling("recall", query="heron"), assistant("b"), plugins=WITH_RECALL)
    async with built:
        await built.answer("the code word is heron", session="other")
        turn = await built.answer("what is the code word?")
    assert contents(turn.messages) == ["Nothing earlier in this conversation holds these words."]


async def test_recall_is_off_by_default(runtime: Build) -> None:
    built, _ = runtime()
    async with built:
        assert "recall" not in built.tools


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("which port, and which host?", ["which", "port", "host", "and"]),
        ("a b c", []),
        ("服务器端口是多少", ["服务器", "器端口", "口是多"]),
        ("error in src/app.py:12", ["src/app.py", "error"]),
    ],
    ids=["words", "short", "chinese", "path"],
)
def test_long_words_are_looked_for_first(query: str, terms: list[str]) -> None:
    assert terms_of(query) == terms


async def test_what_was_summarised_away_can_be_recalled(runtime: Build) -> None:
    said = ["The code word is heron.", *(f"note {n}: {'filling ' * 60}" for n in range(20))]
    told = {"flush": "[]", "summary": "Goal: notes are taken; many of them were about filling."}

    def reply(request: Any) -> Any:
        if request.profile.name in told:
            return assistant(told[request.profile.name])
        last = request.messages[-1]
        return calling("recall", query="code word") if "what was it" in last.text else assistant("noted")

    section = {"max_context_tokens": 3000, "history_compression": {"compaction_protect_first_n": 0}}
    built, script = runtime(*[reply] * 80, plugins=WITH_RECALL, cognition=section)
    async with built:
        for text in said:
            await built.answer(text)
        turn = await built.answer("what was it?")
    asked = next(r for r in reversed(script.requests) if r.purpose == "turn")
    assert not any("heron" in message.text for message in asked.messages)
    assert "The code word is heron." in contents(turn.messages)[0]


async def test_a_turn_records_its_compactions_with_their_cost(runtime: Build) -> None:
    told = {"flush": "[]", "summary": "Goal: notes are taken; many of them were about filling."}
    replies = [lambda request: assistant(told.get(request.profile.name, "noted"))] * 80
    section = {"max_context_tokens": 3000}
    built, _ = runtime(*replies, cognition=section)
    async with built:
        turns = [await built.answer(f"note {n}: {'filling ' * 60}") for n in range(20)]
        stored = await built.sessions.turns()
    done = [each for turn in turns for each in turn.compactions]
    assert [each for turn in stored for each in turn.compactions] == done
    assert {each.cause for each in done} == {"threshold"}
    assert all(each.freed > 0 and each.spent is not None for each in done)
    assert [report.phase for report in done[0].reports] == ["flush", "prune", "bounds", "summarise"]
