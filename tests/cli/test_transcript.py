"""Stored turns as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bumble_core import Message, ToolCall, ToolResult, Turn, assistant, tool_message, user
from bumble_core.cli.transcript import Conversation, as_markdown, as_text, fenced
from bumble_core.types.messages import Text, Thinking
from bumble_core.types.turn import Status, Usage

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
WRITE = ToolCall(id="c1", name="write_file", arguments={"path": "a.txt", "text": "x" * 200})
SAY = ToolCall(id="c2", name="say", arguments={"text": "On it."})


def result(call: ToolCall, content: str, said: str = "") -> Message:
    diff = "+the difference\n" if call.name == "write_file" else ""
    return tool_message(ToolResult(call_id=call.id, name=call.name, content=content, said=said, diff=diff))


def conversation(
    *messages: Message, delivered: tuple[str, ...], status: Status = "done", error: str | None = None
) -> Conversation:
    turn = Turn(
        id="t1", session_id="s", number=7, started=NOON, finished=NOON, status=status, messages=messages,
        delivered=delivered, usage=Usage(input_tokens=10, output_tokens=5), calls={"turn": 2},
        error=error,
    )  # fmt: skip
    return Conversation(session="s", agent="bumble", turns=(turn,))


WORK = conversation(
    user("Write it\nplease"),
    Message(role="assistant", source="model", parts=(Thinking(text="Hmm."), Text(text="I write."), SAY, WRITE)),
    result(SAY, "delivered to the user", said="On it."),
    result(WRITE, "wrote 200 bytes"),
    assistant("Done."),
    delivered=("On it.", "Done."),
)


def test_a_conversation_shows_what_was_said_and_what_was_done_in_order() -> None:
    lines = as_text(WORK, full=False).splitlines()
    assert lines[0] == "Session s"
    assert lines[2].startswith("Turn 7, 2026-05-04 ")
    assert lines[3:6] == ["you: Write it", "  please", "bumble: On it."]
    assert lines[6].startswith('  - write_file: ok path="a.txt" text="xxx')
    assert lines[6].endswith("…")
    assert lines[7:] == ["bumble: Done."]


def test_all_of_a_conversation_includes_what_was_not_shown() -> None:
    text = as_text(WORK, full=True)
    for part in (
        "(thought) Hmm.",
        "(not shown) I write.",
        "x" * 200,
        "    | wrote 200 bytes\n    | +the difference\n",
        "10 tokens in, 5 out",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("status", "error", "notice"),
    [
        ("interrupted", "the process ended", "(interrupted: the process ended)"),
        ("cancelled", None, "(cancelled)"),
        ("failed", "the model went away", "(failed: the model went away)"),
        ("capped", "no end within 600 s", "(stopped at a limit: no end within 600 s)"),
    ],
    ids=["interrupted", "cancelled", "failed", "capped"],
)
def test_a_turn_that_did_not_end_well_is_marked(status: Status, error: str | None, notice: str) -> None:
    unfinished = conversation(user("hi"), delivered=(), status=status, error=error)
    assert notice in as_text(unfinished, full=False)
    assert f"*{notice}*" in as_markdown(unfinished)


def test_a_text_that_was_delivered_but_is_no_message_is_shown_once() -> None:
    text = as_text(conversation(user("hi"), delivered=("From the kernel.",)), full=False)
    assert text.count("From the kernel.") == 1


def test_markdown_keeps_every_word_in_its_place() -> None:
    said = conversation(user("# Not a heading\n```"), assistant("```\n## Turn 8"), delivered=("```\n## Turn 8",))
    lines = as_markdown(said).splitlines()
    assert [line for line in lines if line.startswith("#")] == ["# Session `s`", lines[2]]
    assert "> # Not a heading" in lines


def test_markdown_fences_what_tools_were_called_with() -> None:
    call = ToolCall(id="c1", name="a_tool", arguments={"text": "````"})
    markdown = as_markdown(conversation(user("hi"), assistant("", call), result(call, "x"), delivered=()))
    assert '`````\na_tool: ok\ntext="````"\n`````' in markdown


@pytest.mark.parametrize("text", ["plain", "```", "a ````` b", ""])
def test_a_fence_is_longer_than_any_in_the_text(text: str) -> None:
    fence, *inside, end = fenced(text).split("\n")
    assert fence == end
    assert set(fence) == {"`"}
    assert fence not in "\n".join(inside)


def test_all_of_a_turn_says_what_came_from_the_cache_and_which_system_prompt_it_had() -> None:
    (turn,) = WORK.turns
    usage = Usage(input_tokens=100, output_tokens=5, cached_tokens=90)
    cached = turn.model_copy(update={"usage": usage, "prompt": "0123456789abcdef" * 4})
    text = as_text(Conversation(session="s", agent="bumble", turns=(cached,)), full=True)
    assert "(100 tokens in (90 from the cache), 5 out; requests: turn 2; system prompt 0123456789ab)" in text
