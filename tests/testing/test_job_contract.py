"""The conformance suite of jobs takes a sound job and finds what is wrong with others."""

from __future__ import annotations

import runpy

import pytest
from typing_extensions import override

from bumble_core import complete, user
from bumble_core.errors import ContractError
from bumble_core.ports import Inference, Job
from bumble_core.testing import JobContract
from bumble_core.types.inference import Profile, Request
from bumble_core.types.jobs import Cron, JobResult, JobSpec, JobView, TurnsSince, When, Write
from bumble_core.types.messages import assistant
from tests.installed import CHECKOUT

EXAMPLE = runpy.run_path(str(CHECKOUT / "examples" / "own_job.py"), run_name="own_job")


class TestTheExample(JobContract):
    asked = ("When does the shop open?", "Thank you.")

    @override
    def make(self, inference: Inference) -> Job:
        job: Job = EXAMPLE["Questions"]()
        return job


class Asking:
    """Writes what a model says; `grows` and `swallows` are mistakes."""

    spec = JobSpec(id="asking", summary="Ask", triggers=(When(TurnsSince(1)),), outputs=("said.md",))

    def __init__(self, inference: Inference, *, grows: bool = False, path: str = "said.md") -> None:
        self._inference, self._grows, self._path = inference, grows, path

    async def run(self, view: JobView) -> JobResult:
        if not view.turns:
            return JobResult(summary="nothing new", read=0)
        profile = Profile(name="job", max_tokens=100)
        request = Request(
            owner=view.run_id, purpose="job", models=view.models, profile=profile, messages=(user("What?"),)
        )
        said = (await complete(self._inference, request)).message.text
        text = view.documents["said.md"].text + said if self._grows else said
        return JobResult(summary="asked", read=len(view.turns), writes=(Write(path=self._path, text=text),))


class TestOneThatAsks(JobContract):
    replies = (assistant("- Oslo\n"),)

    @override
    def make(self, inference: Inference) -> Job:
        return Asking(inference)


class Growing(TestOneThatAsks):
    @override
    def make(self, inference: Inference) -> Job:
        return Asking(inference, grows=True)


class Straying(TestOneThatAsks):
    @override
    def make(self, inference: Inference) -> Job:
        return Asking(inference, path="elsewhere.md")


class Never(TestOneThatAsks):
    @override
    def make(self, inference: Inference) -> Job:
        job = Asking(inference)
        job.spec = Asking.spec.model_copy(update={"triggers": (Cron("0 0 30 2 *"),)})
        return job


def test_job_that_grows_when_it_is_repeated_is_found() -> None:
    with pytest.raises(AssertionError):
        Growing().test_run_that_a_crash_has_repeated_changes_nothing_more()


def test_job_that_writes_elsewhere_is_found() -> None:
    with pytest.raises(ContractError, match=r"may not write elsewhere\.md"):
        Straying().test_what_it_writes_is_taken_by_the_kernel()


def test_schedule_that_never_comes_is_found() -> None:
    with pytest.raises(AssertionError, match="never comes"):
        Never().test_it_says_when_it_runs_and_its_schedules_are_sound()
