"""Every hook by its effect: a plugin offers something real, and a turn, a run or a report shows it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from bumble_core import Runtime, ToolCall, ToolResult, assistant, hookimpl, tool
from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.ledger import FileJobLedger
from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.ports import Clock, Execute, Files
from bumble_core.testing import RequestChecker, ScriptedProvider
from bumble_core.types.compaction import CompactionState
from bumble_core.types.events import Compacted, Event, TurnFinished
from bumble_core.types.inference import Completion, Delta, ModelRef, Profile, Request, ToolSpec
from bumble_core.types.jobs import Cause, JobResult, JobSpec, JobView, TurnsSince, When, Write
from bumble_core.types.languages import LanguagePack
from bumble_core.types.messages import Message
from bumble_core.types.surfaces import Answer, Delivery, Question
from bumble_core.types.turn import Route, TurnContext, TurnInput, Verdict

Build = Callable[..., tuple[Runtime, ScriptedProvider]]


def offers(hook: str, given: object) -> object:
    """Return a plugin that offers `given` through `hook`."""
    return type("Offering", (), {hook: hookimpl(lambda self: given)})()


class Kept:
    """Collects what it is told; also an observer."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def notify(self, event: Event) -> None:
        self.events.append(event)

    def only(self, kind: type[Any]) -> Any:
        (found,) = [event for event in self.events if isinstance(event, kind)]
        return found


async def test_bumble_providers_brings_a_model_that_can_be_asked(runtime: Build) -> None:
    other = ScriptedProvider([assistant("From elsewhere.")], name="other")
    built, script = runtime(plugins={"other": offers("bumble_providers", [other])})
    async with built:
        turn = await built.answer("hi", models=(ModelRef.parse("other:m"),))
    assert (turn.text, len(script.requests)) == ("From elsewhere.", 0)


async def test_bumble_tools_gives_the_model_a_tool(runtime: Build) -> None:
    def roll() -> int:
        """Roll a die."""
        return 4

    call = assistant("", ToolCall(name="roll"))
    built, script = runtime(call, assistant("4"), plugins={"dice": offers("bumble_tools", [tool(roll)])})
    async with built:
        turn = await built.answer("roll")
    assert "roll" in {spec.name for spec in script.requests[0].tools}
    assert turn.messages[2].tool_results[0].content == "4"


class Section:
    def __init__(self, text: str, placement: Literal["system", "turn"]) -> None:
        self.text, self.placement = text, placement

    def key(self, turn: TurnContext) -> str:
        return self.text

    async def render(self, turn: TurnContext) -> str:
        return self.text


async def test_bumble_prompt_sections_adds_to_the_system_prompt_and_to_the_tail(runtime: Build) -> None:
    sections = [Section("Speak in rhymes.", "system"), Section("It rains.", "turn")]
    built, script = runtime(assistant("ok"), plugins={"mood": offers("bumble_prompt_sections", sections)})
    async with built:
        await built.answer("hi")
    (request,) = script.requests
    assert "Speak in rhymes." in request.messages[0].text
    assert "It rains." in request.tail


class Alarm:
    async def read(self, input: TurnInput) -> Mapping[str, float]:
        return {"intensity": 1.0}


async def test_bumble_signals_is_sensed_before_routing(runtime: Build) -> None:
    built, _ = runtime(assistant("ok"), plugins={"alarm": offers("bumble_signals", [Alarm()])})
    async with built:
        turn = await built.answer("hi")
    assert turn.route is not None
    assert turn.route.profile.name == "deliberate"


async def test_bumble_languages_joins_the_lists_of_all_plugins_for_the_stages_that_decide(runtime: Build) -> None:
    built, _ = runtime(
        assistant("jam"),
        assistant("jam"),
        assistant("jam"),
        plugins={
            "own": offers("bumble_languages", [LanguagePack(language="eo", lists={"work": ("riparu",)})]),
            "other": offers("bumble_languages", [LanguagePack(language="eo", lists={"work": ("serĉu",)})]),
        },
    )
    async with built:
        turns = [await built.answer(text) for text in ("Saluton!", "Riparu!", "Serĉu ĝin")]
    assert [turn.route and turn.route.profile.name for turn in turns] == ["reflex", "deliberate", "deliberate"]


class Forget:
    """Drops everything but the newest message; a phase and, alone, a compactor."""

    name = "forget"

    async def run(self, state: CompactionState) -> CompactionState:
        return state.with_messages(state.messages[-1:])

    async def compact(self, state: CompactionState) -> CompactionState:
        return replace(await self.run(state), reports=())


LONG = "word " * 2000
SMALL = {"max_context_tokens": 4000, "history_compression": {"compaction_threshold_ratio": 0.9}}


async def test_bumble_compaction_phases_runs_when_the_configuration_names_it(runtime: Build) -> None:
    kept = Kept()
    plugins = {"own": offers("bumble_compaction_phases", [Forget()]), "kept": offers("bumble_observers", [kept])}
    cognition = {**SMALL, "history_compression": {"phases": ["forget"]}}
    built, script = runtime(
        assistant("Rosebud was its name."), assistant("And two it is, then."), plugins=plugins, cognition=cognition
    )
    async with built:
        await built.answer(LONG)
        await built.answer(LONG)
    assert [report.phase for report in kept.only(Compacted).reports] == ["forget"]
    assert "Rosebud" not in "".join(message.text for message in script.requests[1].messages)


class Diary:
    """Writes how many turns it was shown, after every turn."""

    spec = JobSpec(id="diary", summary="count", triggers=(When(TurnsSince(1)),), outputs=("diary.md",))

    async def run(self, view: JobView) -> JobResult:
        write = Write(path="diary.md", text=f"{len(view.turns)} turns")
        return JobResult(summary="counted", read=len(view.turns), writes=(write,))


DIARY = offers("bumble_jobs", [Diary()])
SHIPPED_JOBS = ("verification_review", "working_memory_consolidation", "semantic_memory_extraction", "skill_catalog")
NO_OTHERS = {job: {"enabled": False} for job in SHIPPED_JOBS}


async def test_bumble_jobs_runs_after_a_turn_and_leaves_its_document(runtime: Build) -> None:
    built, _ = runtime(assistant("ok"), plugins={"diary": DIARY}, run_jobs=True)
    async with built:
        await built.answer("hi")
        await built.jobs.settle(5)
    assert (await built.documents.read("diary.md")).text == "1 turns"
    (record,) = await built.ledger.runs("diary")
    assert (record.outcome, record.summary) == ("success", "counted")


class Paper:
    """A surface that keeps what was delivered."""

    name = "paper"
    takes_drafts = False

    def __init__(self) -> None:
        self.delivered: list[str] = []

    async def draft(self, delta: Delta, turn: TurnContext) -> None: ...
    async def withdraw(self, turn: TurnContext) -> None: ...

    async def deliver(self, text: str, turn: TurnContext) -> Delivery:
        self.delivered.append(text)
        return Delivery(delivered=True)

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        return Answer(answered=False)


async def test_bumble_surfaces_is_where_the_reply_goes(runtime: Build) -> None:
    paper = Paper()
    built, _ = runtime(assistant("Hello."), plugins={"paper": offers("bumble_surfaces", [paper])})
    async with built:
        turn = await built.answer("hi", surface="paper")
    assert (paper.delivered, turn.surface) == (["Hello."], "paper")


async def test_bumble_observers_hears_how_a_turn_ended(runtime: Build) -> None:
    kept = Kept()
    built, _ = runtime(assistant("Hello."), plugins={"kept": offers("bumble_observers", [kept])})
    async with built:
        turn = await built.answer("hi")
    assert kept.only(TurnFinished).turn == turn


class Elsewhere:
    """Keeps everything in another folder than the home."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @hookimpl
    def bumble_sessions(self, clock: Clock) -> SqliteSessions:
        return SqliteSessions(self._folder, clock)

    @hookimpl
    def bumble_documents(self, files: Files, clock: Clock) -> FileDocuments:
        return FileDocuments(self._folder, files, clock)

    @hookimpl
    def bumble_job_ledger(self, files: Files, clock: Clock) -> FileJobLedger:
        return FileJobLedger(self._folder, files, clock)


async def _with_everything_elsewhere(runtime: Build, folder: Path) -> Runtime:
    folder.mkdir()
    plugins = {"elsewhere": Elsewhere(folder), "diary": DIARY}
    built, _ = runtime(assistant("Hello."), plugins=plugins, run_jobs=True, jobs=NO_OTHERS)
    async with built:
        await built.answer("hi")
        await built.jobs.settle(5)
    return built


async def test_bumble_sessions_decides_where_conversations_are(runtime: Build, tmp_path: Path) -> None:
    built = await _with_everything_elsewhere(runtime, tmp_path / "elsewhere")
    here = SqliteSessions(tmp_path / "elsewhere", built.parts.clock)
    assert [turn.text for turn in await here.turns()] == ["Hello."]
    await here.aclose()
    assert not list(built.home.glob("*.sqlite3"))


async def test_bumble_documents_decides_where_memory_is(runtime: Build, tmp_path: Path) -> None:
    built = await _with_everything_elsewhere(runtime, tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere/memory/diary.md").read_text() == "1 turns"
    assert not (built.home / "memory/diary.md").exists()


async def test_bumble_job_ledger_decides_where_runs_are_recorded(runtime: Build, tmp_path: Path) -> None:
    built = await _with_everything_elsewhere(runtime, tmp_path / "elsewhere")
    ledger = FileJobLedger(tmp_path / "elsewhere", built.parts.files, built.parts.clock)
    assert [record.job for record in await ledger.runs()] == ["diary"]
    assert not (built.home / "memory/cognition").exists()


class Heavy:
    """Finds every message far heavier than it is."""

    def count(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], model: ModelRef | None) -> int:
        return 900 * len(messages)

    def learn(self, estimated: int, actual: int, model: ModelRef) -> None: ...


async def test_bumble_token_counter_decides_when_a_request_is_too_long(runtime: Build) -> None:
    kept = Kept()
    plugins = {"heavy": offers("bumble_token_counter", Heavy()), "kept": offers("bumble_observers", [kept])}
    built, _ = runtime(
        assistant("Rosebud was its name."), assistant("And two it is, then."), plugins=plugins, cognition=SMALL
    )
    async with built:
        await built.answer("short")
        await built.answer("short")
    assert kept.only(Compacted).tokens_before == 3600


class Oracle:
    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        RequestChecker().check(request)
        yield Completion(message=assistant("42"), finish="stop", model=request.models[0])


async def test_bumble_inference_answers_in_place_of_the_providers(runtime: Build) -> None:
    built, script = runtime(plugins={"oracle": offers("bumble_inference", Oracle())})
    async with built:
        turn = await built.answer("hi")
    assert (turn.text, len(script.requests)) == ("42", 0)


class DryRunner:
    async def run(self, calls: tuple[ToolCall, ...], turn: TurnContext) -> AsyncGenerator[ToolResult, None]:
        for call in calls:
            yield ToolResult(call_id=call.id, name=call.name, content="not really")


async def test_bumble_tool_runner_decides_how_calls_are_run(runtime: Build) -> None:
    call = assistant("", ToolCall(name="think", arguments={"thought": "x"}))
    built, _ = runtime(call, assistant("done"), plugins={"dry": offers("bumble_tool_runner", DryRunner())})
    async with built:
        turn = await built.answer("hi")
    assert turn.messages[2].tool_results[0].content == "not really"


class Fixed:
    async def route(self, input: TurnInput) -> Route:
        profile = Profile(name="terse", max_tokens=7)
        return Route(profile=profile, models=input.models, decided_by="forced", reason="always terse")


async def test_bumble_router_chooses_the_profile_of_the_request(runtime: Build) -> None:
    built, script = runtime(assistant("ok"), plugins={"fixed": offers("bumble_router", Fixed())})
    async with built:
        turn = await built.answer("hi")
    assert turn.route is not None
    assert (turn.route.reason, script.requests[0].profile.max_tokens) == ("always terse", 7)


class Strict:
    async def judge(self, turn: TurnContext) -> Verdict:
        return Verdict(done=turn.step > 1, decided_by="heuristic", reason="twice is better", nudge="Say it again.")


async def test_bumble_judge_holds_a_turn_open_with_its_nudge(runtime: Build) -> None:
    built, script = runtime(assistant("one"), assistant("two"), plugins={"strict": offers("bumble_judge", Strict())})
    async with built:
        turn = await built.answer("hi")
    assert [verdict.done for verdict in turn.verdicts] == [False, True]
    assert "Say it again." in script.requests[1].tail


async def test_bumble_compactor_makes_the_room(runtime: Build) -> None:
    plugins = {"own": offers("bumble_compactor", Forget())}
    built, script = runtime(
        assistant("Rosebud was its name."), assistant("And two it is, then."), plugins=plugins, cognition=SMALL
    )
    async with built:
        await built.answer(LONG)
        turn = await built.answer(LONG)
    assert "Rosebud" not in "".join(message.text for message in script.requests[1].messages)
    assert [choice.plugin for choice in built.stages_chosen if choice.stage == "compactor"] == ["own"]
    assert turn.status == "done"


class Queue:
    """Runs nothing by itself: a job waits until somebody takes it."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self.waiting: asyncio.Queue[tuple[str, Cause]] = asyncio.Queue()

    async def submit(self, job_id: str, cause: Cause) -> None:
        await self.waiting.put((job_id, cause))

    async def drain(self, wait_s: float) -> None: ...

    async def take(self) -> None:
        await self._execute(*await self.waiting.get())


class QueuePlugin:
    @hookimpl
    def bumble_job_runner(self, execute: Execute) -> Queue:
        return Queue(execute)


async def test_bumble_job_runner_decides_when_a_job_is_executed(runtime: Build) -> None:
    built, _ = runtime(assistant("ok"), plugins={"diary": DIARY, "queue": QueuePlugin()}, run_jobs=True, jobs=NO_OTHERS)
    async with built:
        await built.answer("hi")
        assert await built.ledger.runs("diary") == ()
        queue = built.parts.job_runner
        assert isinstance(queue, Queue)
        await queue.take()
    assert [record.outcome for record in await built.ledger.runs("diary")] == ["success"]
