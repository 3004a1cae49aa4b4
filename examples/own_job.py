"""Give the agent a background job of your own, with a condition of your own.

Run it: `python examples/own_job.py`. It keeps a list of the questions that were asked while the list is not too long.
"""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from bumble_core import Settings, assemble, assistant, hookimpl
from bumble_core.ports import Job
from bumble_core.testing import ScriptedProvider
from bumble_core.types.jobs import Condition, JobResult, JobSpec, JobView, Situation, TurnsSince, When, Write

QUESTIONS = "questions.md"


@dataclass(frozen=True)
class ShorterThan(Condition):
    characters: int
    reads = (QUESTIONS,)

    @override
    def reason(self, now: Situation) -> str:
        size = len(now.documents[QUESTIONS].text)
        return f"the list has {size} characters" if size < self.characters else ""


class Questions:
    spec = JobSpec(id="questions", triggers=(When(TurnsSince(1) & ShorterThan(4000)),), outputs=(QUESTIONS,))

    async def run(self, view: JobView) -> JobResult:
        text = view.documents[QUESTIONS].text
        asked = [f"- {turn.messages[0].text}\n" for turn in view.turns if turn.messages[0].text.endswith("?")]
        text += "".join(line for line in asked if line not in text)  # a run that is repeated adds nothing
        return JobResult(writes=(Write(path=QUESTIONS, text=text),))


class QuestionsPlugin:
    @hookimpl
    def bumble_jobs(self) -> list[Job]:
        return [Questions()]


async def main(home: Path) -> None:
    model = ScriptedProvider([assistant("At nine."), assistant("You are welcome.")])
    given = {"agent": {"models": ["scripted:model"]}, "home": home, "plugins": {"disabled": ["jobs"]}}
    settings = Settings.model_validate(given)
    plugins = {"scripted": model, "questions": QuestionsPlugin()}
    async with assemble(settings, plugins=plugins, run_jobs=False) as runtime:
        await runtime.answer("When does the shop open?")
        await runtime.answer("Thank you.")
        await runtime.jobs.settle()
        (record, *_) = await runtime.ledger.runs("questions")
        print((await runtime.documents.read(QUESTIONS)).text, end="")
        print(f"{record.outcome}: {record.cause.reason}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
