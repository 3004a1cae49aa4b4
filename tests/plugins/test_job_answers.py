"""How jobs ask their models: an invalid answer is repaired once, then the next model is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bumble_jobs.asking import Answer, Question, Shape, ask
from bumble_jobs.consolidation import Consolidated
from bumble_jobs.extraction import Extraction
from bumble_jobs.review import ReviewAnswer
from pydantic import Field

from bumble_core import InferenceError, assistant
from bumble_core.chat import encode_request
from bumble_core.errors import AllModelsFailed, ContextOverflow, Unreachable
from bumble_core.testing import Reply
from bumble_core.types.inference import Completion, ModelRef, Profile, Request
from bumble_core.types.jobs import JobView
from tests.plugins.job_views import AT, MODELS, inference


class Colour(Shape):
    name: str
    share: int = Field(ge=0)


GOOD = assistant('{"name": "red", "share": 1}')
NONSENSE = assistant("I think it is red.")
DOWN = Unreachable("no route to host")


def question() -> Question[Colour]:
    return Question(
        instruction="Name a colour.",
        material="<<<record 1\nred\nrecord 1>>>",
        shape=Colour,
        problem=lambda answer: "" if answer.name == "red" else f"`{answer.name}` is not in the record",
        profile=Profile(name="job", max_tokens=100),
    )


async def asked(home: Path, *replies: Reply, models: tuple[ModelRef, ...] = MODELS) -> tuple[Answer[Colour], list[str]]:
    kernel, script = inference(home, *replies)
    answer = await ask(kernel, JobView(run_id="run_1", at=AT, models=models), question())
    return answer, [str(request.models[0]) for request in script.requests]


@pytest.mark.parametrize(
    "text",
    ['{"name": "red", "share": 1}', '```json\n{"name": "red", "share": 1}\n```', 'Here: {"name": "red", "share": 1}.'],
    ids=["bare", "fenced", "among-words"],
)
async def test_a_valid_answer_takes_one_call(tmp_path: Path, text: str) -> None:
    answer, calls = await asked(tmp_path, assistant(text))
    assert (answer.value, str(answer.model), answer.attempts) == (Colour(name="red", share=1), "scripted:one", ())
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (NONSENSE, "Invalid JSON"),
        (assistant('{"name": "red"}'), "`share`: Field required"),
        (assistant('{"name": "red", "share": -1}'), "`share`: Input should be greater than or equal to 0"),
        (assistant('{"name": "blue", "share": 1}'), "`blue` is not in the record"),
        (Completion(message=GOOD, finish="length", model=MODELS[0]), "it was cut at 100 tokens"),
    ],
    ids=["no-json", "field-missing", "out-of-range", "untrue", "cut"],
)
async def test_an_invalid_answer_is_repaired_by_the_same_model_which_is_told_why(
    tmp_path: Path, bad: Reply, told: str
) -> None:
    kernel, script = inference(tmp_path, bad, GOOD)
    answer = await ask(kernel, JobView(run_id="run_1", at=AT, models=MODELS), question())
    assert str(answer.model) == "scripted:one"
    assert told in script.requests[1].messages[-1].text
    assert [told in each.error for each in answer.attempts] == [True]
    assert script.requests[1].models == (MODELS[0],)


async def test_a_model_that_is_invalid_twice_makes_room_for_the_next(tmp_path: Path) -> None:
    answer, calls = await asked(tmp_path, NONSENSE, NONSENSE, GOOD)
    assert (str(answer.model), len(answer.attempts), len(calls)) == ("scripted:two", 2, 3)


async def test_a_model_that_does_not_answer_makes_room_for_the_next(tmp_path: Path) -> None:
    answer, _ = await asked(tmp_path, DOWN, NONSENSE, DOWN, GOOD)
    assert str(answer.model) == "scripted:three"
    assert [str(each.model) for each in answer.attempts] == ["scripted:one", "scripted:two", "scripted:two"]


@pytest.mark.parametrize(
    ("replies", "calls"), [([DOWN] * 3, 3), ([NONSENSE] * 6, 6), ([NONSENSE, DOWN, DOWN, NONSENSE, NONSENSE], 5)]
)
async def test_when_nobody_helps_the_error_says_what_each_model_did(
    tmp_path: Path, replies: list[Reply], calls: int
) -> None:
    kernel, script = inference(tmp_path, *replies)
    with pytest.raises(AllModelsFailed) as caught:
        await ask(kernel, JobView(run_id="run_1", at=AT, models=MODELS), question())
    assert (len(script.requests), len(caught.value.attempts)) == (calls, calls)
    assert {model for model, _ in caught.value.attempts} == set(map(str, MODELS))


async def test_what_does_not_fit_is_the_callers_to_mend(tmp_path: Path) -> None:
    kernel, _ = inference(tmp_path, ContextOverflow("too long", 2048))
    with pytest.raises(ContextOverflow):
        await ask(kernel, JobView(run_id="run_1", at=AT, models=MODELS), question())


async def test_without_a_model_the_error_says_what_to_configure(tmp_path: Path) -> None:
    kernel, _ = inference(tmp_path)
    with pytest.raises(InferenceError, match=r"no model is configured; name one under `agent\.models`"):
        await ask(kernel, JobView(run_id="run_1", at=AT), question())


async def test_the_shape_goes_with_the_request_and_the_material_is_no_instruction(tmp_path: Path) -> None:
    kernel, script = inference(tmp_path, GOOD)
    await ask(kernel, JobView(run_id="run_1", at=AT, models=MODELS), question())
    (request,) = script.requests
    assert (request.owner, request.purpose, request.tool_choice) == ("run_1", "job", "none")
    assert [message.role for message in request.messages] == ["system", "user"]
    assert request.reply_schema == Colour.model_json_schema()


@pytest.mark.parametrize("shape", [ReviewAnswer, Consolidated, Extraction])
def test_what_jobs_ask_for_can_be_forced_to_the_letter(shape: type[Shape]) -> None:
    profile = Profile(name="job", max_tokens=9)
    given = {"owner": "run_1", "purpose": "job", "models": MODELS, "profile": profile, "messages": ()}
    request = Request.model_validate({**given, "reply_schema": shape.model_json_schema()})
    assert '"strict": true' in json.dumps(encode_request(request, "one"))
