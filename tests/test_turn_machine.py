"""Conversations made at random: whatever happens in a turn, the laws hold and the next turn works."""

from __future__ import annotations

import asyncio
import gc
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from bumble_core import InferenceError, Settings, ToolCall, ToolError, assemble, assistant, hookimpl
from bumble_core.errors import ContextOverflow
from bumble_core.loop import limits_of
from bumble_core.testing import check_prefix, check_request
from bumble_core.types.events import Compacted, Event, Inferred, TurnStarted
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request
from tests.depth import examples
from tests.pieces import Tools
from tests.shipped import construct_shipped

EXAMPLES, STEPS_A_RUN = examples(18, 600), 50  # some 2 s of CPU a machine
TIMEOUT_S = examples(900, 10_800)  # on a machine that has other work to do
REF = ModelRef(provider="scripted", model="model")
SUMMARY = "Goal: to talk. Progress: much was said before, and nothing of it is lost."
STEPS = ("text", "long", "empty", "cut", "malformed", "unknown", "misfit", "twin_ids", "error", "bug", "overflow")
TOOLS = ("fine", "fails", "hangs", "floods", "says", "ends")


def fine() -> str:
    """Succeed."""
    return "fine"


def fails() -> str:
    """Fail."""
    raise ToolError("out of paper")


async def hangs() -> str:
    """Never answer."""
    await asyncio.sleep(600)
    return "late"


def floods() -> str:
    """Say far too much."""
    return "flood " * 20_000


CALLS = {
    "fine": ("fine", {}),
    "fails": ("fails", {}),
    "hangs": ("hangs", {}),
    "floods": ("floods", {}),
    "says": ("say", {"message": "Half of it is done."}),
    "ends": ("end_turn", {"reason": "done"}),
}


@dataclass
class Plan:
    """What the model does at one step; `stops` and `steers` happen while it is asked."""

    kind: str
    tools: tuple[str, ...] = ()
    stops: bool = False
    steers: bool = False


PLANS = st.one_of(
    st.builds(Plan, kind=st.sampled_from(STEPS)),
    st.builds(Plan, kind=st.just("tools"), tools=st.lists(st.sampled_from(TOOLS), min_size=1, max_size=3).map(tuple)),
    st.builds(Plan, kind=st.sampled_from(("text", "tools", "slow")), tools=st.just(("fine",)), stops=st.just(True)),
    st.builds(Plan, kind=st.sampled_from(("text", "tools")), tools=st.just(("fine",)), steers=st.just(True)),
)


class Model:
    """Plays the plans of a turn, then answers in words; every request is held to the laws."""

    name = "scripted"

    def __init__(self) -> None:
        self.plans: deque[Plan] = deque()
        self.handle: Any = None
        self.broken: list[str] = []
        self.sessions: dict[str, str] = {}
        self.before: dict[str, Request] = {}
        self.asked = 0

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._check(request)
        if request.purpose != "turn":
            yield Completion(message=assistant(SUMMARY), finish="stop", model=REF)
            return
        plan = self.plans.popleft() if self.plans else Plan("text")
        if plan.steers and self.handle is not None:
            self.handle.steer("one more thing")
        if plan.stops and self.handle is not None:
            self.handle.cancel()
        yield Delta(text="draft")
        await asyncio.sleep(0.01 if plan.kind == "slow" else 0)
        yield self._completion(plan)

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=REF, is_default=True),)

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]

    @hookimpl
    def bumble_observers(self) -> list[Any]:
        return [self]

    def notify(self, event: Event) -> None:
        match event:
            case TurnStarted(input=input):
                self.sessions[input.id] = input.session_id
                self.asked = 0
            case Compacted(turn_id=turn_id):
                self.before.pop(self.sessions[turn_id], None)
            case Inferred(request=request) if request.purpose == "turn":
                self.asked += 1
            case _:
                pass

    def _check(self, request: Request) -> None:
        try:
            check_request(request)
            if request.purpose == "turn":
                session = self.sessions[request.owner]
                if (before := self.before.get(session)) is not None:
                    check_prefix(before, request)
                self.before[session] = request
        except AssertionError as error:
            self.broken.append(str(error))

    def _completion(self, plan: Plan) -> Completion:
        match plan.kind:
            case "error":
                raise InferenceError("no route to host")
            case "bug":
                raise KeyError("choices")
            case "overflow":
                raise ContextOverflow("too long", 1500)
        calls = _calls(plan)
        text = {"long": "word " * 400, "empty": "", "tools": "Let me see."}.get(plan.kind, "That is all.")
        finish: Any = "length" if plan.kind == "cut" else "tool_calls" if calls else "stop"
        return Completion(message=assistant(text, *calls), finish=finish, model=REF)


def _calls(plan: Plan) -> list[ToolCall]:
    match plan.kind:
        case "cut":
            return [ToolCall(name="fine")]
        case "malformed":
            return [ToolCall(name="fine", problem="the arguments are not JSON", raw='{"a":')]
        case "unknown":
            return [ToolCall(name="fin")]
        case "misfit":
            return [ToolCall(name="fine", arguments={"a": 1})]
        case "twin_ids":
            return [ToolCall(id="call_1", name="fine"), ToolCall(id="call_1", name="fails")]
        case "tools":
            return [ToolCall(name=name, arguments=dict(given)) for name, given in (CALLS[tool] for tool in plan.tools)]
    return []


class Conversations(RuleBasedStateMachine):
    """One home, two sessions, and everything that can go wrong in a turn."""

    @initialize()
    def begin(self) -> None:
        self.files, self.threads = _open_files(), threading.active_count()
        self.folder = Path(tempfile.mkdtemp(prefix="bumble-machine-"))
        self.runner, self.model = asyncio.Runner(), Model()
        self.runtime = self._assembled()

    @rule(session=st.sampled_from(["a", "b"]), plans=st.lists(PLANS, max_size=5))
    def turn(self, session: str, plans: list[Plan]) -> None:
        self.model.plans = deque(plans)
        turn = self.runner.run(self._turn(session))
        limits = limits_of(self.runtime.settings)
        assert turn.text or turn.error
        assert self.model.asked <= limits.max_steps
        assert turn.status in ("done", "capped", "failed", "cancelled")
        calls = [call.id for message in turn.messages for call in message.tool_calls]
        assert calls == [result.call_id for message in turn.messages for result in message.tool_results]

    @rule(session=st.sampled_from(["a", "b"]))
    def endless(self, session: str) -> None:
        """Every step calls a tool: the cap ends it."""
        self.model.plans = deque(Plan("tools", ("fine", "fails")) for _ in range(30))
        turn = self.runner.run(self._turn(session))
        assert turn.status == "capped"
        assert turn.text

    @rule()
    def restart(self) -> None:
        self.runner.run(self.runtime.aclose())
        self.runtime = self._assembled()

    @invariant()
    def laws_hold(self) -> None:
        assert self.model.broken == []

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        try:
            for session in ("a", "b"):
                self.model.plans.clear()
                turn = self.runner.run(self._turn(session))
                assert (turn.status, turn.text) == ("done", "That is all.")
            self.runner.run(self.runtime.aclose())
            assert self.runner.run(_tasks()) == []
            assert self.model.broken == []
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)
        _wait_for(lambda: threading.active_count() <= self.threads)
        gc.collect()
        assert _open_files() <= self.files

    async def _turn(self, session: str) -> Any:
        self.model.handle = self.runtime.start("and now?", session=session)
        return await self.model.handle.result()

    def _assembled(self) -> Any:
        history = {"compaction_protect_last_n": 4}
        found = Settings.model_validate(
            {
                "agent": {"models": ["scripted:model"]},
                "home": self.folder / "home",
                "cognition": {"max_context_tokens": 3000, "history_compression": history},
                "tools": {"timeout_s": 0.02, "max_output_chars": 1500},
            }
        )
        shipped = construct_shipped("router", "judge", "compactor", "jobs", "talk")
        plugins = {**shipped, "scripted": self.model, "own": Tools(fine, fails, hangs, floods)}
        return assemble(found, plugins=plugins, discovers=False, run_jobs=False)


async def _tasks() -> list[str]:
    own = asyncio.current_task()
    return [task.get_name() for task in asyncio.all_tasks() if task is not own]


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _wait_for(fact: Callable[[], bool]) -> None:
    moment = threading.Event()
    for _ in range(200):
        if fact():
            return
        moment.wait(0.01)
    raise AssertionError([thread.name for thread in threading.enumerate()])


@pytest.mark.timeout(TIMEOUT_S)
def test_the_laws_hold_whatever_happens_in_a_turn() -> None:
    quiet = structlog.testing.capture_logs()
    with quiet:
        run_state_machine_as_test(
            Conversations,
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS_A_RUN,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
