"""A turn goes before a run where a model answers one request at a time; a failing job costs little."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest
import structlog
from bumble_local import LocalConfig, LocalPlugin

from bumble_core import InferenceError, assemble, assistant, complete, hookimpl, user
from bumble_core.errors import Unreachable
from bumble_core.jobs.models import JobModels
from bumble_core.ports import Exclusive, Inference, Job, Provider
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Profile, Request
from bumble_core.types.jobs import JobResult, JobSpec, JobView, TurnsSince, When
from bumble_core.types.settings import Settings
from tests.jobs.world import MemorySessions, SimulatedClock, living, without_threads
from tests.shipped import construct_shipped

PROFILE = Profile(name="job", max_tokens=100)


class Engine:
    """A model that answers turns at once and thinks about jobs until it is told to stop; also the plugin."""

    name = "local"
    is_exclusive: Literal[True] = True

    def __init__(self, stops_after_s: float = 0.0) -> None:
        self.thinking, self.may_answer = asyncio.Event(), asyncio.Event()
        self.purposes: list[str] = []
        self._stops_after_s = stops_after_s

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self.purposes.append(request.purpose)
        if request.purpose == "job":
            self.thinking.set()
            try:
                await self.may_answer.wait()
            finally:
                await asyncio.sleep(self._stops_after_s)
        ref = ModelRef(provider="local", model=model)
        yield Completion(message=assistant("yes"), finish="stop", model=ref)

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=ModelRef(provider="local", model="one")),)

    @hookimpl
    def bumble_providers(self) -> list[Provider]:
        return [self]


class Thinking:
    """Asks each of its models in turn; `is_pleased` with no answer, it asks once more and then the next."""

    def __init__(self, inference: Inference, *, is_pleased: bool = True) -> None:
        self.spec = JobSpec(id="thinking", summary="Think", triggers=(When(TurnsSince(1)),))
        self._inference, self._is_pleased = inference, is_pleased

    async def run(self, view: JobView) -> JobResult:
        for model in view.models:
            for _ in range(2):
                request = Request(
                    owner=view.run_id, purpose="job", models=(model,), profile=PROFILE, messages=(user("think"),)
                )
                try:
                    await complete(self._inference, request)
                except InferenceError:
                    break
                if self._is_pleased:
                    return JobResult(summary="thought", read=len(view.turns))
        raise InferenceError("no answer was of use")


class ThinkingPlugin:
    def __init__(self, *, is_pleased: bool = True) -> None:
        self._is_pleased = is_pleased

    @hookimpl
    def bumble_jobs(self, inference: Inference) -> list[Job]:
        return [Thinking(inference, is_pleased=self._is_pleased)]


@pytest.fixture
def agent(settings: Callable[..., Any]) -> Callable[..., Any]:
    def build(engine: Engine, clock: SimulatedClock) -> Any:
        plugins = {**construct_shipped("router", "judge", "compactor"), "engine": engine, "thinking": ThinkingPlugin()}
        found = settings(agent={"models": ["local:one"]})
        return assemble(found, plugins=plugins, discovers=False, clock=clock)

    return build


async def test_turn_stops_the_request_of_a_run_which_is_queued_again(agent: Callable[..., Any]) -> None:
    clock = SimulatedClock()
    engine = Engine()
    async with agent(engine, clock) as runtime:
        await runtime.answer("hello")
        await asyncio.wait_for(engine.thinking.wait(), 10)
        turn = await asyncio.wait_for(runtime.answer("are you there?"), 5)
        await runtime.jobs.settle(5)
        (record,) = [each for each in await runtime.ledger.runs() if each.outcome != "skipped"]
        state = await runtime.ledger.state("thinking")
        engine.may_answer.set()
        clock.jump(timedelta(seconds=31))
        runtime.jobs.notice()
        await runtime.jobs.settle(5)
        (again, *_) = await runtime.ledger.runs()
    assert (turn.status, record.outcome, record.summary) == (
        "done",
        "interrupted",
        "gave the model to a turn; queued again",
    )
    assert (state.failures, state.cursor) == (0, 0)
    assert (again.outcome, again.cursor) == ("success", (0, 2))


async def test_turn_waits_a_second_at_most_for_a_run_that_does_not_stop(agent: Callable[..., Any]) -> None:
    engine = Engine(stops_after_s=3.0)
    async with agent(engine, SimulatedClock()) as runtime:
        await runtime.answer("hello")
        await asyncio.wait_for(engine.thinking.wait(), 10)
        begun = asyncio.get_running_loop().time()
        turn = await runtime.answer("are you there?")
        assert asyncio.get_running_loop().time() - begun < 2.5
        engine.may_answer.set()
    assert turn.status == "done"


def test_local_models_give_way_to_turns() -> None:
    (local,) = LocalPlugin(LocalConfig()).bumble_providers()
    assert isinstance(local, Exclusive)


class Counting:
    """Three models that nobody reaches, or that answer nonsense; counts what each is asked."""

    name = "scripted"

    def __init__(self, error: InferenceError | None) -> None:
        self.asked: list[str] = []
        self._error = error

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self.asked.append(model)
        if self._error is not None:
            raise self._error
        yield Completion(message=assistant("?"), finish="stop", model=ModelRef(provider="scripted", model=model))

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()

    @hookimpl
    def bumble_providers(self) -> list[Provider]:
        return [self]


@pytest.mark.parametrize(
    ("error", "most"), [(Unreachable("no route to host"), 8), (None, 12)], ids=["unreachable", "invalid-output"]
)
async def test_failing_job_asks_little_in_its_first_hour(
    error: InferenceError | None, most: int, tmp_path: Path
) -> None:
    without_threads()
    clock, counting = SimulatedClock(), Counting(error)
    sessions = MemorySessions(clock)
    given = {"agent": {"models": ["scripted:a", "scripted:b", "scripted:c"]}}
    plugins = {"scripted": counting, "thinking": ThinkingPlugin(is_pleased=False)}
    with structlog.testing.capture_logs():
        async with living(tmp_path, clock, sessions, plugins=plugins, **given) as runtime:
            for _ in range(60):
                sessions.add()
                runtime.jobs.notice()
                await clock.advance(timedelta(minutes=1))
            state = await runtime.ledger.state("thinking")
    assert state.failures >= 3
    assert 3 <= len(counting.asked) <= most
    assert set(counting.asked) == {"a", "b", "c"}


def test_models_are_fewer_from_try_to_try_and_none_is_left_out_for_good() -> None:
    class NoChoice:
        def chosen(self, role: str) -> tuple[ModelRef, ...]:
            return ()

        async def choose(self, role: str, models: tuple[ModelRef, ...]) -> None: ...

    found = Settings.model_validate({"agent": {"models": ["p:a", "p:b", "p:c"]}})
    models = JobModels(NoChoice(), found, ("p",))
    spec = JobSpec(id="own", summary="", triggers=())
    tries = ["".join(ref.model for ref in models.after(spec, failures)) for failures in range(7)]
    assert tries == ["abc", "bc", "c", "a", "b", "c", "a"]
