"""The shipped jobs from end to end: conversations lead to reviews, a working memory and facts, each with its record."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from bumble_core import InferenceError, assemble, assistant
from bumble_core.builtin.system import SystemClock
from bumble_core.errors import Unreachable
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import Completion, ModelRef, Request, Usage
from bumble_core.types.jobs import RunRecord
from bumble_core.types.messages import Message
from tests.installed import Installed
from tests.jobs.world import NOON, SimulatedClock
from tests.shipped import construct_shipped

Build = Callable[..., Any]
REVIEW, CONSOLIDATION, EXTRACTION = (
    "verification_review",
    "working_memory_consolidation",
    "semantic_memory_extraction",
)
THREE = ["scripted:one", "scripted:two", "scripted:three"]


def job_of(request: Request) -> str:
    """Return whose question a request is."""
    shapes = {"ReviewAnswer": REVIEW, "Consolidated": CONSOLIDATION, "Extraction": EXTRACTION}
    return shapes[str((request.reply_schema or {})["title"])]


def numbers_in(request: Request) -> list[int]:
    """Return the numbers of the turns in the record that a job's model is shown."""
    return [int(number) for number in re.findall(r"^turn (\d+) \(", request.messages[1].text, re.MULTILINE)]


class Mind:
    """A model that talks, reviews, consolidates and extracts sensibly, and remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, list[int]]] = []

    def __call__(self, request: Request) -> Message | Completion:
        if request.purpose != "job":
            return assistant("Very well.")
        job, turns = job_of(request), numbers_in(request)
        self.shown.append((job, turns))
        message = assistant(json.dumps(self.answers(turns)[job]))
        usage = Usage(input_tokens=100, output_tokens=10)
        return Completion(message=message, finish="stop", model=ModelRef.parse("scripted:model"), usage=usage)

    def answers(self, turns: Sequence[int]) -> dict[str, Any]:
        seen = {"checked": "the reply", "found": "it is there", "turn": turns[0], "quote": "Very well."}
        task = {"heading": "Active Tasks", "text": f"Task of turn {turns[-1]}", "turn": turns[-1]}
        said = {"kind": "user_preference", "text": "Wants tea", "turn": turns[0], "quote": "I want tea", "replaces": []}
        return {
            REVIEW: {"verdict": "pass", "evidence": [seen], "issues": []},
            CONSOLIDATION: {"drop": [], "change": [], "add": [task]},
            EXTRACTION: {"found": [said], "nothing": ""},
        }


@pytest.fixture
def agent(settings: Callable[..., Any]) -> Build:
    def build(
        mind: Callable[[Request], Any],
        *,
        clock: Any = None,
        models: Sequence[str] = ("scripted:model",),
        others: Sequence[str] = (),
    ) -> Any:
        script = ScriptedProvider([mind] * 500)
        plugins = {**construct_shipped("router", "judge", "compactor", "jobs", *others), "scripted": script}
        found = settings(agent={"models": list(models)})
        return assemble(found, plugins=plugins, discovers=False, clock=clock or SimulatedClock(), run_jobs=True)

    return build


async def talk(runtime: Any, turns: int) -> None:
    """Have so many turns, each followed by all that is due then."""
    for number in range(turns):
        await runtime.answer(f"I want tea, number {number}.")
        await runtime.jobs.settle(5)


async def records(runtime: Any, job: str) -> list[RunRecord]:
    """Return the runs of a job that did work, the oldest first."""
    return [record for record in reversed(await runtime.ledger.runs(job)) if record.outcome != "skipped"]


async def test_twelve_turns_lead_to_reviews_consolidations_and_an_extraction(agent: Build) -> None:
    mind = Mind()
    async with agent(mind) as runtime:
        await talk(runtime, 12)
        found = {job: await records(runtime, job) for job in (REVIEW, CONSOLIDATION, EXTRACTION)}
        memory = {path: (await runtime.documents.read(path)).text for path in await runtime.documents.list()}
    assert [shown for job, shown in mind.shown if job == REVIEW] == [[number] for number in range(1, 13)]
    assert [shown for job, shown in mind.shown if job == CONSOLIDATION] == [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]
    assert [shown for job, shown in mind.shown if job == EXTRACTION] == [list(range(1, 13))]
    assert {job: {record.outcome for record in runs} for job, runs in found.items()} == {
        REVIEW: {"success"},
        CONSOLIDATION: {"success"},
        EXTRACTION: {"success"},
    }
    assert "- Verdict: pass\n- Turns: 12\n" in memory["cognition/state/verification_review.md"]
    assert memory["cognition/state/earlier_reviews.md"].count("\n## Turn ") == 11
    assert "- Task of turn 6 [turn 6]\n- Task of turn 12 [turn 12]\n" in memory["working/WORKING_MEMORY.md"]
    assert "## User Preferences\n\n- Wants tea [turn 1]\n" in memory["semantic/preferences.md"]


async def test_a_record_says_why_with_what_and_to_what_end_a_job_ran(agent: Build) -> None:
    async with agent(Mind()) as runtime:
        await talk(runtime, 6)
        (record,) = await records(runtime, CONSOLIDATION)
        document = await runtime.documents.read("working/WORKING_MEMORY.md")
    assert (record.cause.trigger, record.cause.reason) == ("state", "6 turns unread, threshold 6")
    assert [str(model) for model in (*record.models, record.model)] == ["scripted:model", "scripted:model"]
    assert [(each.path, each.before, each.after) for each in record.changes] == [
        ("working/WORKING_MEMORY.md", "absent", document.version)
    ]
    assert (record.cursor, record.calls, record.usage.input_tokens) == ((0, 6), 1, 100)
    assert record.summary == "folded 6 turns, 1 written, 0 removed"
    assert record.finished is not None


async def test_a_review_reads_each_turn_once_however_many_came_meanwhile(agent: Build) -> None:
    mind = Mind()
    async with agent(mind) as runtime:
        for number in range(5):
            await runtime.answer(f"I want tea, number {number}.")
        await runtime.jobs.settle(5)
    reviewed = [number for job, shown in mind.shown if job == REVIEW for number in shown]
    assert reviewed == [1, 2, 3, 4, 5]


class LongNoon(SystemClock):
    """Sleeps as it should, and never comes to a moment of a schedule."""

    @override
    def now(self) -> datetime:
        return NOON


async def test_what_a_person_wrote_between_two_runs_is_still_there(agent: Build) -> None:
    async with agent(Mind(), clock=LongNoon()) as runtime:
        await talk(runtime, 6)
        file: Path = runtime.home / "memory/working/WORKING_MEMORY.md"
        file.write_text(file.read_text().replace("- Task of turn 6 [turn 6]\n", "- Call Ada\n") + "\n## Mine\n\nkeep\n")
        await talk(runtime, 6)
        text = file.read_text()
    assert "- Call Ada\n- Task of turn 12 [turn 12]\n" in text
    assert text.endswith("\n## Mine\n\nkeep\n")


class Interrupted(Mind):
    """While this model thinks about the second consolidation, a person edits the file."""

    def __init__(self, edit: Callable[[], None]) -> None:
        super().__init__()
        self._edit = edit

    @override
    def __call__(self, request: Request) -> Message | Completion:
        answer = super().__call__(request)
        if self.shown and self.shown[-1][0] == CONSOLIDATION and self.shown[-1][1][0] == 7:
            self._edit()
        return answer


async def test_what_a_person_writes_while_a_job_thinks_is_there_beside_what_the_job_writes(
    agent: Build, tmp_path: Path
) -> None:
    file = tmp_path / "home/memory/working/WORKING_MEMORY.md"

    def edit() -> None:
        text = file.read_text()
        if "Mine" not in text:
            text = text.replace("- Task of turn 6 [turn 6]\n", "- Task of turn 6, but on Friday [turn 6]\n- Mine\n")
            file.write_text(f"{text}\n## [locked] Rules\nAsk first.\n")

    async with agent(Interrupted(edit), clock=LongNoon()) as runtime:
        await talk(runtime, 12)
        _, record = await records(runtime, CONSOLIDATION)
        text = file.read_text()
    assert [change.merged for change in record.changes] == [True]
    for line in ("- Task of turn 6, but on Friday [turn 6]", "- Mine", "- Task of turn 12 [turn 12]"):
        assert f"{line}\n" in text
    assert text.endswith("## [locked] Rules\nAsk first.\n")


class Critic(Mind):
    """Finds fault with every turn, and keeps the requests of turns."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []

    @override
    def __call__(self, request: Request) -> Message | Completion:
        if request.purpose == "turn":
            self.asked.append(request)
        return super().__call__(request)

    @override
    def answers(self, turns: Sequence[int]) -> dict[str, Any]:
        given = super().answers(turns)
        fault = {"text": "No tea was made.", "turn": turns[-1]}
        return given | {REVIEW: given[REVIEW] | {"verdict": "fail", "issues": [fault]}}


async def test_the_next_turn_sees_the_last_verdict_and_its_issues(agent: Build) -> None:
    mind = Critic()
    async with agent(mind, others=("memory",)) as runtime:
        await talk(runtime, 2)
    first, second = ("".join(message.text for message in request.messages) for request in mind.asked)
    assert "No tea was made." not in first
    assert "No tea was made." in second
    assert "fail" in second


async def test_a_skill_that_is_added_is_in_the_catalog_after_the_next_turn(agent: Build) -> None:
    async with agent(Mind()) as runtime:
        await runtime.jobs.settle(5)
        folder: Path = runtime.home / "memory/skills/tea"
        folder.mkdir(parents=True)
        folder.joinpath("SKILL.md").write_text("---\nname: tea\ndescription: How tea is made.\n---\nBoil water.\n")
        folder.joinpath("kettle.png").write_bytes(b"\x89PNG\xff")
        await talk(runtime, 2)
        outcomes = [record.outcome for record in await records(runtime, "skill_catalog")]
        catalog = await runtime.documents.read("cognition/state/skill_catalog.md")
    assert "- tea: How tea is made. (skills/tea/SKILL.md)\n" in catalog.text
    assert outcomes == ["success", "success"]


async def test_the_command_line_shows_the_runs_and_what_they_wrote_and_takes_one_back(
    agent: Build, installed: Installed
) -> None:
    async with agent(Mind()) as runtime:
        await talk(runtime, 12)
        _, record = await records(runtime, CONSOLIDATION)
        home = str(runtime.home)

    def told(*arguments: str) -> Any:
        return json.loads(installed.bumble(*arguments, "--json", "--home", home).out)

    path = "working/WORKING_MEMORY.md"
    found = {each["job"]: (each["last_run"] or "never").split()[0] for each in told("jobs")}
    succeeded = dict.fromkeys([REVIEW, CONSOLIDATION, EXTRACTION, "skill_catalog"], "success")
    assert found == {**succeeded, "memory_flush_owed": "never"}
    assert Counter(each["outcome"] for each in told("jobs", "runs", "--limit", "100"))["success"] == 12 + 2 + 1 + 1
    assert told("jobs", "show", record.id) == record.model_dump(mode="json")
    assert told("memory", "history", path)[0]["written_by"] == f"{CONSOLIDATION} {record.id}"
    assert installed.bumble("jobs", "undo", record.id, "--home", home).status == 0
    assert "Task of turn 12" not in installed.bumble("memory", "show", path, "--home", home).out


def unreachable(request: Request) -> Message | InferenceError:
    return assistant("Very well.") if request.purpose != "job" else Unreachable("no route to host")


def babbling(request: Request) -> Message:
    return assistant("Very well.")


@pytest.mark.parametrize(("mind", "most"), [(unreachable, 8), (babbling, 12)], ids=["unreachable", "invalid"])
async def test_a_job_whose_models_fail_asks_them_seldom_in_its_first_hour(
    agent: Build, mind: Callable[[Request], Any], most: int
) -> None:
    clock, calls = SimulatedClock(), Counter[str]()

    def counted(request: Request) -> Any:
        if request.purpose == "job":
            calls[job_of(request)] += 1
        return mind(request)

    async with agent(counted, clock=clock, models=THREE) as runtime:
        for _ in range(13):
            assert (await runtime.answer("I want tea.")).status == "done"
            await runtime.jobs.settle(5)
            await clock.advance(timedelta(minutes=5))
        outcomes = {record.outcome for record in await records(runtime, REVIEW)}
        state = await runtime.ledger.state(REVIEW)
    assert (outcomes, state.cursor) == ({"failure"}, 0)
    assert {job: 0 < number <= most for job, number in calls.items()} == dict.fromkeys(calls, True)
    assert set(calls) == {REVIEW, CONSOLIDATION, EXTRACTION}
