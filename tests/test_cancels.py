"""Two hundred cancels at random moments of turns leave nothing behind, and the turn after each one works."""

from __future__ import annotations

import asyncio
import gc
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Runtime, Settings, ToolCall, assemble, assistant, hookimpl, tool
from bumble_core.testing import RequestChecker
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request
from bumble_core.types.surfaces import Answer, Delivery, Question
from bumble_core.types.turn import Turn
from tests.depth import examples
from tests.pieces import Tools, statuses
from tests.shipped import construct_shipped

CANCELS, AT_ONCE = examples(200, 2_000), 4
REF = ModelRef(provider="scripted", model="model")
CALLED = ("nap", "blocks", "asked", "say", "nap", "blocks")
ANSWER = "All of it is done now."
_MOMENT_S = 0.001


async def nap() -> str:
    """Wait a moment."""
    await asyncio.sleep(3 * _MOMENT_S)
    return "rested"


def blocks() -> str:
    """Hold a thread for a moment."""
    time.sleep(3 * _MOMENT_S)
    return "held"


@tool(asks_first=True)
def asked() -> str:
    """Do what a person must agree to."""
    return "agreed"


class StreamingModel:
    """Calls six tools at once, then answers, word by word; counts the streams that are open."""

    name = "scripted"

    def __init__(self) -> None:
        self.open = 0
        self.broken: list[str] = []
        self._checker = RequestChecker()

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        try:
            self._checker.check(request)
        except AssertionError as error:
            self.broken.append(str(error))
        self.open += 1
        try:
            for word in ANSWER.split():
                yield Delta(text=f"{word} ")
                await asyncio.sleep(_MOMENT_S / 2)
            yield _reply(request)
        finally:
            self.open -= 1

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=REF, is_default=True),)

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]


def _reply(request: Request) -> Completion:
    latest = [message for message in request.messages if message.source in ("user", "tool")][-1]
    if latest.role == "tool":
        return Completion(message=assistant(ANSWER), finish="stop", model=REF)
    calls = [ToolCall(name=name, arguments={"message": "On it."} if name == "say" else {}) for name in CALLED]
    return Completion(message=assistant("Let me see.", *calls), finish="tool_calls", model=REF)


class Slowly:
    """A person who takes a moment to read, and to agree."""

    name, takes_drafts = "slowly", True

    async def draft(self, delta: Delta, turn: Any) -> None:
        await asyncio.sleep(0)

    async def withdraw(self, turn: Any) -> None:
        await asyncio.sleep(0)

    async def deliver(self, text: str, turn: Any) -> Delivery:
        await asyncio.sleep(_MOMENT_S)
        return Delivery(delivered=True)

    async def ask(self, question: Question, turn: Any) -> Answer:
        await asyncio.sleep(2 * _MOMENT_S)
        return Answer(answered=True, text="yes")


def assembled(home: Path, model: StreamingModel) -> Runtime:
    plugins = {
        **construct_shipped("router", "judge", "compactor", "talk"),
        "scripted": model,
        "own": Tools(nap, blocks, asked),
    }
    cognition = {"history_compression": {"enabled": False}, "max_context_tokens": 10_000_000}
    found = Settings.model_validate({"agent": {"models": [str(REF)]}, "home": home, "cognition": cognition})
    return assemble(found, plugins=plugins, discovers=False, run_jobs=False)


async def turn_of(runtime: Runtime, session: str, cancel_after_s: float | None) -> Turn:
    handle = runtime.start("and now?", session=session, surface=Slowly())
    if cancel_after_s is None:
        return await handle.result()
    timer = asyncio.get_running_loop().call_later(cancel_after_s, handle.cancel)
    try:
        return await handle.result()
    finally:
        timer.cancel()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def settled(fact: Callable[[], object]) -> bool:
    """Tell whether `fact` becomes false within two seconds."""
    for _ in range(2_000):
        if not fact():
            return True
        await asyncio.sleep(_MOMENT_S)
    return False


def left_over(model: StreamingModel) -> list[str]:
    """Name what a turn left in this process: tasks, threads of tools, streams of the model."""
    own = asyncio.current_task()
    tasks = [task.get_name() for task in asyncio.all_tasks() if task is not own]
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("tool-")]  # at work
    return [*tasks, *threads, *["a stream"] * model.open]


async def cancel_again_and_again(home: Path, chance: random.Random) -> Counter[str]:
    """Cancel turns, several at once, at moments drawn from their whole length; each is followed by one that must work.

    A turn that works tells how long the next ones will take, however busy the machine is.
    """
    model, ended, length_s = StreamingModel(), Counter[str](), 0.02
    sessions = [f"s{number}" for number in range(AT_ONCE)]
    async with assembled(home, model) as runtime:
        for _ in range(CANCELS // AT_ONCE):
            cancelled = [turn_of(runtime, session, chance.random() * length_s) for session in sessions]
            ended.update([check_cancelled(turn) for turn in await asyncio.gather(*cancelled)])
            assert await settled(lambda: left_over(model)), left_over(model)
            begin = time.monotonic()
            for turn in await asyncio.gather(*(turn_of(runtime, session, None) for session in sessions)):
                check_whole(turn)
            length_s = time.monotonic() - begin
    assert await settled(lambda: [each.name for each in threading.enumerate() if "tool" in each.name])
    assert model.broken == []
    return ended


def check_cancelled(turn: Turn) -> str:
    """Hold a turn that may have been cancelled to its laws and return how it ended."""
    calls = [call.id for message in turn.messages for call in message.tool_calls]
    assert calls == [result.call_id for message in turn.messages for result in message.tool_results]
    return turn.status


def check_whole(turn: Turn) -> None:
    assert (turn.status, turn.delivered) == ("done", ("On it.", ANSWER))
    assert statuses(turn.messages) == ["ok"] * len(CALLED)


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="bumble-cancels-"))
    yield folder / "home"
    shutil.rmtree(folder)


def test_cancels_at_random_moments_leave_no_task_thread_or_file_and_the_next_turn_works(home: Path) -> None:
    files, threads = open_files(), threading.active_count()
    ended = asyncio.run(cancel_again_and_again(home, random.Random(4)))
    assert ended["cancelled"] >= CANCELS / 2, ended
    assert set(ended) <= {"cancelled", "done"}
    assert threading.active_count() <= threads
    gc.collect()
    assert open_files() <= files
