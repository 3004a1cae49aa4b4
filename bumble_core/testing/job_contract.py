"""The conformance suite of jobs: what the kernel asks of each, and what a user may expect.

class TestMine(JobContract):
    replies = (assistant("- likes tea"),)

    def make(self, inference: Inference) -> Job:
        return MyJob(inference)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ..errors import AllModelsFailed, InferenceError
from ..jobs.applying import Applying
from ..jobs.look import read_all
from ..jobs.schedule import problem
from ..ports import Inference, Job
from ..types.inference import Completion, Delta, ModelRef, Request, Usage
from ..types.jobs import Change, Cron, JobResult, JobView
from ..types.messages import Message, assistant, user
from ..types.turn import Turn
from .memory_documents import MemoryDocuments

_MODEL = ModelRef(provider="scripted", model="model")
_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
_ALL = 1.0  # losses are for the job's author to judge here


class JobContract:
    """Runs a job on three turns as the kernel does, with a model that answers `replies`, the last again and again.

    `documents` are what is there at first, by path; `asked` is what the user said in the turns.
    """

    replies: Sequence[Message] = ()
    documents: Mapping[str, str] = {}
    asked: Sequence[str] = ("I live in Oslo.", "Please remember that.", "Thank you.")

    def make(self, inference: Inference) -> Job:
        """Return the job to be tried."""
        raise NotImplementedError

    def test_it_says_when_it_runs_and_its_schedules_are_sound(self) -> None:
        triggers = self._job().spec.triggers
        assert triggers, "a job without triggers never runs by itself"
        crons = [trigger for trigger in triggers if isinstance(trigger, Cron)]
        found = [problem(cron.expression, cron.timezone) for cron in crons]
        assert not any(found), "; ".join(filter(None, found))

    def test_what_it_writes_is_taken_by_the_kernel(self) -> None:
        asyncio.run(self._run(MemoryDocuments(self.documents)))

    def test_it_runs_with_nothing_to_read(self) -> None:
        result, _ = asyncio.run(self._run(MemoryDocuments(self.documents), asked=()))
        assert not result.read

    def test_run_that_a_crash_has_repeated_changes_nothing_more(self) -> None:
        documents = MemoryDocuments(self.documents)
        asyncio.run(self._run(documents))
        once = dict(documents.texts)
        asyncio.run(self._run(documents))
        assert documents.texts == once

    def test_model_that_fails_is_a_failure_and_not_a_result(self) -> None:
        inference = _Answering((), fails=True)
        try:
            asyncio.run(self.make(inference).run(asyncio.run(self._view(MemoryDocuments(self.documents), self.asked))))
        except InferenceError:
            return
        assert not inference.was_asked, "no model answered, and the job returned a result all the same"

    async def _run(
        self, documents: MemoryDocuments, asked: Sequence[str] | None = None
    ) -> tuple[JobResult, tuple[Change, ...]]:
        async def ignore(changes: tuple[Change, ...]) -> None: ...

        job, view = self._job(), await self._view(documents, self.asked if asked is None else asked)
        result = await job.run(view)
        return result, await Applying(documents, _ALL).apply(job.spec, job, view, result, ignore)

    async def _view(self, documents: MemoryDocuments, asked: Sequence[str]) -> JobView:
        spec = self._job().spec
        return JobView(
            run_id="run_1",
            at=_AT,
            turns=tuple(_turn(number, text) for number, text in enumerate(asked, 1)),
            unread=len(asked),
            documents=await read_all(documents, (*spec.inputs, *spec.outputs)),
            models=(_MODEL,),
        )

    def _job(self) -> Job:
        return self.make(_Answering(self.replies))


class _Answering:
    def __init__(self, replies: Sequence[Message], *, fails: bool = False) -> None:
        self._replies, self._fails = list(replies), fails
        self.was_asked = False

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        self.was_asked = True
        if self._fails:
            raise AllModelsFailed(((str(_MODEL), InferenceError("nobody answers")),))
        message = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        yield Completion(message=message, finish="stop", model=_MODEL, usage=Usage(input_tokens=10, output_tokens=5))


def _turn(number: int, text: str) -> Turn:
    began = _AT - timedelta(hours=1) + timedelta(minutes=number)
    return Turn(
        id=f"turn_{number}",
        session_id="s",
        number=number,
        started=began,
        finished=began + timedelta(seconds=5),
        status="done",
        messages=(user(text), assistant("Noted.")),
        delivered=("Noted.",),
    )
