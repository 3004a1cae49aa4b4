"""Background jobs beside a conversation in `bumble chat`, with a server that speaks as OpenAI's does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bumble_core import assistant
from bumble_core.testing import StubReply, StubServer
from bumble_core.testing.stub_replies import openai_stream, sse_reply
from bumble_core.testing.stub_server import StubRequest
from bumble_core.types.jobs import JobState
from tests.cli.screen import CTRL_D, Screen
from tests.cli.talker import configure
from tests.installed import Installed

QUIET = "gate: {policy: heuristics}\nplugins: {router: {classifier: false}}\nagent: {models: [openai:m]}\n"
SEEN = {"checked": "the reply", "found": "it is there", "turn": 1, "quote": "An owl flew."}
REVIEW = json.dumps({"verdict": "pass", "evidence": [SEEN], "issues": []})
PROMPT = "\n>"
JOB = "verification_review"


@pytest.fixture
def writer(installed: Installed) -> Installed:
    configure(installed, QUIET)
    installed.variables["BUMBLE_HOME"] = str(installed.root / "home")
    return installed


def memory(installed: Installed) -> Path:
    return installed.root / "home" / "memory" / "cognition"


@asynccontextmanager
async def chat(installed: Installed, review: str) -> AsyncGenerator[Screen, None]:
    """Sit down at `bumble chat` with a model that tells of an owl, and answers `review` where a job asks."""

    def reply(request: StubRequest) -> StubReply:
        return sse_reply(openai_stream(assistant(review if "response_format" in request.json else "An owl flew.")))

    async with StubServer(reply) as stub:
        variables = {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": f"{stub.url}/v1"}
        screen = Screen(installed, variables, "chat", "--session", "talk")
        try:
            await screen.shows(PROMPT)
            yield screen
        finally:
            screen.close()


def runs(installed: Installed) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(installed.bumble("jobs", "runs", "--job", JOB, "--json").out)
    return found


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.05)


async def test_a_review_runs_beside_the_conversation_and_is_there_afterwards(writer: Installed) -> None:
    async with chat(writer, REVIEW) as screen:
        screen.types("Tell me a story")
        shown = await screen.shows(PROMPT)
        await until((memory(writer) / "state" / f"{JOB}.md").exists)
        assert screen.text == shown
        screen.types("", CTRL_D)
        assert await screen.left_with() == 0
    (run,) = runs(writer)
    assert (run["outcome"], run["cause"]["trigger"]) == ("success", "state")
    assert not list((memory(writer) / "open").iterdir())
    assert "turn 1: pass" in writer.bumble("jobs", "runs").out


async def test_a_job_that_fails_again_and_again_is_told_of_in_the_conversation(writer: Installed) -> None:
    state = memory(writer) / "jobs" / f"{JOB}.json"
    state.parent.mkdir(parents=True)
    state.write_text(JobState(failures=4).model_dump_json())
    async with chat(writer, "It was a good turn.") as screen:
        screen.types("Tell me a story")
        told = await screen.shows_line("show run_")
        screen.types("", CTRL_D)
        assert await screen.left_with() == 0
    assert told.startswith(f"· {JOB} failed 5 times: bumble jobs show run_")
    assert "invalid answer" in writer.bumble("jobs", "show", told.split()[-1]).out
