"""A conversation in `bumble chat` as a person sees it, with a server that speaks as OpenAI's does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bumble_core import ToolCall, assistant
from bumble_core.testing import StubReply, StubServer
from bumble_core.testing.stub_replies import openai_stream, sse_reply
from tests.cli.screen import CTRL_C, CTRL_D, Screen
from tests.cli.talker import ONLY_THE_CONVERSATION, configure
from tests.installed import CHECKOUT, Installed

PAGE = CHECKOUT / "docs" / "how-to" / "talk-in-the-terminal.md"
LISTS = ToolCall(name="list_directory", arguments={"path": "."})
REMOVES = ToolCall(name="run_command", arguments={"command": "rm draft.txt"})
PROMPT = "\n>"
QUESTION = 'Run run_command(command="rm draft.txt")? [yes/no/always]'


@pytest.fixture
def writer(installed: Installed) -> Installed:
    """Somebody with two files and a model behind OpenAI's interface."""
    configure(installed, f"agent: {{models: [openai:m]}}\n{ONLY_THE_CONVERSATION}")
    for name in ("draft.txt", "report.txt"):
        installed.work.joinpath(name).write_text("words\n")
    return installed


def says(text: str, *calls: ToolCall) -> StubReply:
    return sse_reply(openai_stream(assistant(text, *calls)))


def begins(text: str) -> StubReply:
    """Stream a text and then nothing, until the client goes away."""
    events = [event for event in openai_stream(assistant(text)) if b'"content"' in event]
    return StubReply(headers={"content-type": "text/event-stream"}, body=events, end="hang")


@asynccontextmanager
async def chat(installed: Installed, *replies: StubReply) -> AsyncGenerator[tuple[Screen, StubServer], None]:
    """Sit down at `bumble chat` and wait for its prompt."""
    async with StubServer(replies) as stub:
        variables = {"OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": f"{stub.url}/v1"}
        screen = Screen(installed, variables, "chat", "--session", "talk")
        try:
            await screen.shows(PROMPT)
            yield screen, stub
        finally:
            screen.close()


def words_to_model(stub: StubServer) -> str:
    """Return what the last request said, as one text."""
    return "\n".join(message["content"] or "" for message in stub.requests[-1].json["messages"])


async def test_text_is_shown_while_the_model_writes_it(writer: Installed) -> None:
    async with chat(writer, begins("Once upon a time an owl")) as (screen, _):
        screen.types("Tell me a story")
        shown = await screen.shows("an owl")
    assert shown.endswith("\n> Tell me a story\nOnce upon a time an owl")


async def test_a_tool_at_work_is_a_line_above_the_answer(writer: Installed) -> None:
    async with chat(writer, says("", LISTS), says("Two files.")) as (screen, stub):
        screen.types("Which files are here?")
        shown = await screen.shows(PROMPT)
    assert shown.endswith('\n> Which files are here?\n· list_directory path="."\nTwo files.\n>')
    assert "draft.txt" in words_to_model(stub)


async def test_words_beside_a_call_do_not_stay_on_the_screen(writer: Installed) -> None:
    async with chat(writer, says("I shall look around.", LISTS), says("Two files.")) as (screen, _):
        screen.types("Which files are here?")
        assert "I shall look around." not in await screen.shows(PROMPT)


@pytest.mark.parametrize(
    ("answer", "told", "remains"),
    [
        ("no", "\n· run_command was refused: the user refused this call\nAs you say.\n>", True),
        ("yes", "\nAs you say.\n>", False),
    ],
    ids=["no", "yes"],
)
async def test_a_command_runs_only_after_a_yes(writer: Installed, answer: str, told: str, remains: bool) -> None:
    async with chat(writer, says("", REMOVES), says("As you say.")) as (screen, stub):
        screen.types("Remove the draft")
        await screen.shows(QUESTION)
        assert writer.work.joinpath("draft.txt").exists()
        screen.types(answer)
        shown = await screen.shows(PROMPT)
    assert shown.endswith(f"{QUESTION} {answer}{told}")
    assert writer.work.joinpath("draft.txt").exists() is remains
    assert ("the user refused this call" in words_to_model(stub)) is remains


async def test_ctrl_c_stops_the_turn_and_the_next_one_works(writer: Installed) -> None:
    async with chat(writer, begins("Once upon a time"), says("An owl flew.")) as (screen, stub):
        screen.types("Tell me a story")
        await screen.shows("Once upon a time")
        screen.types(CTRL_C, end="")
        stopped = await screen.shows(PROMPT)
        await asyncio.wait_for(stub.abandoned.wait(), 10)
        screen.types("Shorter, please")
        shown = await screen.shows(PROMPT)
    assert stopped.endswith("\nOnce upon a time^C\n[withdrawn]\nCancelled.\n>")
    assert shown == f"{stopped} Shorter, please\nAn owl flew.\n>"
    assert "Tell me a story\n\nShorter, please" in words_to_model(stub)


ANSWERS = (
    says("", LISTS),
    says("There are two: draft.txt and report.txt."),
    says("I remove it.", REMOVES),
    says("draft.txt stays where it is."),
    begins("Once upon a time, in a forest far from here,"),
    says("An owl wrote a report. The end."),
)
SITTING = (  # what is typed, how it ends, and what the screen then ends with
    ("Which files are here?", "\r", PROMPT),
    ("Remove the draft", "\r", QUESTION),
    ("no", "\r", PROMPT),
    ("Tell me a story", "\r", "far from here,"),
    ("", CTRL_C, PROMPT),
    ("Shorter, please", "\r", PROMPT),
)


async def test_a_conversation_looks_as_its_page_shows_it(writer: Installed) -> None:
    async with chat(writer, *ANSWERS) as (screen, _):
        for typed, end, ending in SITTING:
            screen.types(typed, end)
            shown = await screen.shows(ending)
        screen.types("", CTRL_D)
        assert await screen.left_with() == 0
    assert re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL) == [f"{shown}\n"]
