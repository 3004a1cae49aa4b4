"""A program that is killed again and again in the middle of a turn, and goes on with the same session each time.

    python -m tests.crash_child HOME SEED ROUNDS

Writes one line of JSON per thing that it was told is done into `facts` beside the home: what a killed process said
before must still be there.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from bumble_core import Settings, ToolCall, assemble, assistant, hookimpl
from bumble_core.testing import ScriptedProvider
from bumble_core.types.events import Event, Inferred, ToolFinished, TurnFinished, TurnStarted
from tests.pieces import Tools, quick
from tests.shipped import construct_shipped

MOST_FACTS = 5  # of the six that a turn tells; a process is killed after so many of them and a pause
LONGEST_PAUSE_S = 0.02


async def short() -> str:
    """Take a moment."""
    await asyncio.sleep(0.02)
    return "s"


class Teller:
    """Writes down what is on disk as soon as it is told."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    @hookimpl
    def bumble_observers(self) -> list[Teller]:
        return [self]

    def notify(self, event: Event) -> None:
        match event:
            case TurnStarted(input=input):
                self._tell(input.id, input.message.id)
            case ToolFinished(turn_id=turn_id, call=call):
                self._tell(turn_id, call.id)
            case TurnFinished(turn=turn):
                self._tell(turn.id, turn.status)
            case Inferred():
                pass

    def _tell(self, turn_id: str, fact: str) -> None:
        os.write(self._file, (json.dumps([turn_id, fact]) + "\n").encode())


def talk(home: Path, text: str) -> None:
    """Run one turn to its end; a request with a history that is not valid ends the process with an error."""
    calls = assistant("", ToolCall(name="quick"), ToolCall(name="short"), ToolCall(name="quick"))
    script = ScriptedProvider([calls, assistant("", ToolCall(name="short")), assistant(f"an answer to {text}")])
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
    plugins = {
        **construct_shipped("router", "judge", "compactor", "jobs"),
        "scripted": script,
        "own": Tools(quick, short),
        "teller": Teller(home.with_name("facts")),
    }
    with assemble(settings, plugins=plugins, discovers=False, run_jobs=False) as runtime:
        turn = runtime.answer_sync(text)
    assert turn.status == "done", turn


def forked(home: Path, text: str) -> int:
    """Talk in a process of its own and return its id."""
    if (child := os.fork()) != 0:
        return child
    try:
        talk(home, text)
    except BaseException as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
        os._exit(1)
    os._exit(0)


def told(home: Path) -> int:
    file = home.with_name("facts")
    return file.read_bytes().count(b"\n") if file.exists() else 0


def wait_for(home: Path, facts: int) -> None:
    deadline = time.monotonic() + 20
    while told(home) < facts and time.monotonic() < deadline:
        time.sleep(0.001)


def main(home: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    for number in range(rounds):
        before = told(home)
        child = forked(home, f"killed {number}")
        wait_for(home, before + chance.randint(0, MOST_FACTS))
        time.sleep(chance.uniform(0, LONGEST_PAUSE_S))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        _, status = os.waitpid(forked(home, f"whole {number}"), 0)
        if status != 0:
            sys.exit(f"the turn after kill {number} of seed {seed} failed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
