"""The sessions of the compaction benchmark: long, valid, the same at every call, with answers that stand once."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks.compaction.scripts import NAMES
from benchmarks.compaction.sessions import LongSession, estimated_tokens, session
from bumble_core.testing import check_history
from bumble_core.types.messages import Message


@pytest.fixture(scope="module", params=NAMES)
def long(request: pytest.FixtureRequest) -> LongSession:
    return session(request.param)


def words(message: Message) -> str:
    """All of a message that a model reads, letter case aside."""
    calls = [json.dumps(call.arguments, ensure_ascii=False) for call in message.tool_calls]
    results = [result.content for result in message.tool_results]
    return "\n".join((message.text, *calls, *results)).casefold()


def test_there_are_three_of_code_and_two_each_of_research_and_life_and_three_other_languages() -> None:
    built = [session(name) for name in NAMES]
    english = Counter(one.kind for one in built if one.language == "en")
    assert english == {"coding": 3, "research": 2, "personal": 2}
    assert sorted(one.language for one in built if one.language != "en") == ["de", "es", "zh"]
    assert [one.name for one in built] == list(NAMES)


def test_history_is_valid_and_ends_with_the_assistant(long: LongSession) -> None:
    check_history(long.messages)
    assert long.messages[-1].role == "assistant"
    assert long.messages[-1].text
    assert len({message.id for message in long.messages}) == len(long.messages)


def test_session_is_several_compactions_long_and_within_the_bound(long: LongSession) -> None:
    needed = 25_000 if long.language == "zh" else 45_000
    assert needed <= estimated_tokens(long.messages) <= 100_000


def test_session_has_tool_results_that_failed_and_messages_with_two_calls(long: LongSession) -> None:
    results = [result for message in long.messages for result in message.tool_results]
    assert len(results) >= 60
    assert any(result.status == "error" for result in results)
    assert any(len(message.tool_calls) == 2 for message in long.messages)


def test_there_are_twenty_questions_and_at_least_half_ask_for_no_identifier(long: LongSession) -> None:
    identifiers = sum(question.identifier for question in long.questions)
    assert len(long.questions) >= 20
    assert 8 <= identifiers <= len(long.questions) / 2
    assert len({question.text for question in long.questions}) == len(long.questions)


def test_each_answer_stands_in_its_message_and_in_no_other(long: LongSession) -> None:
    texts = [words(message) for message in long.messages]
    places = {
        (question.text, answer): [place for place, text in enumerate(texts) if answer.casefold() in text]
        for question in long.questions
        for answer in question.answers
    }
    wanted = {(question.text, answer): [question.at] for question in long.questions for answer in question.answers}
    assert places == wanted


def test_no_question_gives_its_answer_away(long: LongSession) -> None:
    given = [q.text for q in long.questions if any(a.casefold() in q.text.casefold() for a in q.answers)]
    assert given == []


def test_answers_are_spread_over_the_session_and_over_who_said_them(long: LongSession) -> None:
    fifths = {question.at * 5 // len(long.messages) for question in long.questions}
    assert fifths == set(range(5))
    assert {long.messages[question.at].role for question in long.questions} == {"user", "assistant", "tool"}


def test_session_is_the_same_at_every_call(long: LongSession) -> None:
    assert session(long.name) == long


def test_no_slot_was_left_open(long: LongSession) -> None:
    texts = [words(message) for message in long.messages]
    slots = ("{file}", "{func}", "{who}", "{thing}", "{person}", "{quien}", "{wer}", "{reply}", "-9}", "-90}")
    assert [text for text in texts if any(slot in text for slot in slots)] == []


def test_the_beginning_of_a_session_is_one_too_with_the_questions_on_it(long: LongSession) -> None:
    beginning = long.first(100)
    check_history(beginning.messages)
    assert len(beginning.messages) <= 100
    assert beginning.messages[-1].role == "assistant"
    assert 0 < len(beginning.questions) < len(long.questions)
    assert long.first(None) == long
    with pytest.raises(ValueError, match="no question is on the first 0 messages"):
        long.first(0)
