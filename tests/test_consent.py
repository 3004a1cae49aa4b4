"""What a person is asked about a call, and what the answers mean."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from bumble_core import Runtime, assistant
from bumble_core.builtin.surfaces import NoSurface
from bumble_core.consent import agrees, agrees_always, question_about
from bumble_core.testing import ScriptedProvider
from bumble_core.types.messages import ToolCall
from bumble_core.types.surfaces import Answer, Question
from bumble_core.types.turn import TurnContext
from tests.pieces import Tools, add, calling, statuses


def asked(**arguments: JsonValue) -> str:
    return question_about(ToolCall(name="run_command", arguments=arguments)).text


def test_the_question_shows_the_whole_call() -> None:
    assert asked(command=["git", "é"], n=1) == 'Run run_command(command=["git", "é"], n=1)?'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ls\x1b[2K\rrm", r"ls\u001b[2K\rrm"),
        ("a\nb\tc", r"a\nb\tc"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("a\u00a0b\u200bc\u2028d", r"a\u00a0b\u200bc\u2028d"),
        ("\x9b31m\x7f", r"\u009b31m\u007f"),
        ("\U000e0041\ud800", r"\U000e0041\ud800"),
        ('"? [yes/no] yes', r"\"? [yes/no] yes"),
    ],
    ids=["escape", "lines", "direction", "unseen", "c1", "tag-and-surrogate", "quote"],
)
def test_what_cannot_be_seen_is_written_out(value: str, shown: str) -> None:
    assert asked(command=value) == f'Run run_command(command="{shown}")?'


def test_a_long_value_shows_its_beginning_its_end_and_its_size() -> None:
    text = asked(command="a" * 50_000 + "END", folder="x")
    assert len(text) < 1200
    assert text.startswith('Run run_command(command="aaa')
    assert "[… 50,005 characters in all …] aaa" in text
    assert text.endswith('END", folder="x")?')


def test_a_call_of_many_values_stays_short() -> None:
    assert len(asked(**{f"name{number}": "x" * 900 for number in range(100)})) < 4200


@pytest.mark.parametrize(
    ("answer", "is_yes", "is_always"),
    [
        (Answer(answered=True, text="yes"), True, False),
        (Answer(answered=True, text=" Always "), True, True),
        (Answer(answered=True, text="no"), False, False),
        (Answer(answered=True, text=""), False, False),
        (Answer(answered=False, text="yes"), False, False),
        (Answer(answered=False, text="always"), False, False),
    ],
    ids=["yes", "always", "no", "nothing", "nobody", "nobody-always"],
)
def test_only_a_given_yes_agrees(answer: Answer, is_yes: bool, is_always: bool) -> None:
    assert (agrees(answer), agrees_always(answer)) == (is_yes, is_always)


class Person(NoSurface):
    """Somebody who gives one answer after the other."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        self.questions.append(question.text)
        return Answer(answered=True, text=self._answers.pop(0))


async def outcomes(runtime: Any, person: NoSurface, count: int) -> list[str]:
    calls = [calling("add", a=1, b=number) for number in (2, 2, 3)[:count]]
    made: tuple[Runtime, ScriptedProvider] = runtime(
        *calls, assistant("Done."), plugins={"n": Tools(add)}, tools={"ask": ["add"]}
    )
    async with made[0]:
        return statuses((await made[0].answer("go", surface=person)).messages)


async def test_always_spares_the_same_question_and_no_other(runtime: Any) -> None:
    person = Person("always", "no")
    assert await outcomes(runtime, person, 3) == ["ok", "ok", "refused"]
    assert person.questions == ["Run add(a=1, b=2)?", "Run add(a=1, b=3)?"]


async def test_yes_holds_once(runtime: Any) -> None:
    assert await outcomes(runtime, Person("yes", "no"), 2) == ["ok", "refused"]


async def test_where_nobody_can_answer_the_call_is_denied(runtime: Any) -> None:
    assert await outcomes(runtime, NoSurface(), 1) == ["refused"]
