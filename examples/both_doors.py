"""Ask from a program with an event loop, and from one without.

Run it: `python examples/both_doors.py`. Its model is scripted, so that it runs anywhere.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bumble_core import Runtime, Settings, assemble, assistant
from bumble_core.testing import ScriptedProvider
from bumble_core.types.events import Drafted, TurnFinished


def assembled(home: Path) -> Runtime:
    model = ScriptedProvider([assistant("Good morning."), assistant("Still here,\nword by word.")])
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
    return assemble(settings, plugins={"scripted": model}, run_jobs=False)


def without_a_loop(home: Path) -> None:
    """`answer_sync` keeps one event loop in a thread for all calls of this runtime."""
    with assembled(home) as runtime:
        print(runtime.answer_sync("hello").text)
        print(runtime.answer_sync("still there?").text)


async def with_a_loop(home: Path) -> None:
    """`answer` waits for the whole turn; `stream` yields what happens on the way."""
    async with assembled(home) as runtime:
        turn = await runtime.answer("hello", session="morning")
        print(turn.text)
        async for event in runtime.stream("still there?", session="morning"):
            match event:
                case Drafted(delta=delta):
                    print(f"draft: {delta.text!r}")
                case TurnFinished(turn=turn):
                    print(f"{turn.status}: {turn.text!r}")
                case _:
                    pass


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        without_a_loop(Path(folder) / "one")
        asyncio.run(with_a_loop(Path(folder) / "two"))
