"""Random conversations, phases that misbehave and a summariser that fails: strategies for the laws of compaction."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st

from bumble_core import Message, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.types.compaction import CompactionState
from tests.compaction.bench import SUMMARY, Answer

TEXTS = st.sampled_from(
    [
        "ok",
        "word " * 12,
        "Look at src/main.py, line 120. " * 6,
        "请检查日志" * 20,
        "x" * 900,
        "## heading\n```\ncode\n" * 5,
    ]
)
OUTPUTS = st.sampled_from(["", "ok", "line of output\n" * 40, "9f86d081" * 60, "A" * 4000])


@st.composite
def groups(draw: st.DrawFn) -> tuple[Message, ...]:
    """Return one message of words, or calls with their results; few of them are pinned."""
    is_pinned = draw(st.integers(0, 9)) == 0
    kind = draw(st.sampled_from(["user", "assistant", "calls"]))
    if kind == "user":
        return (user(draw(TEXTS)).model_copy(update={"pinned": is_pinned}),)
    if kind == "assistant":
        return (assistant(draw(TEXTS)).model_copy(update={"pinned": is_pinned}),)
    calls = tuple(ToolCall(name="read", arguments={"path": draw(TEXTS)[:40]}) for _ in range(draw(st.integers(1, 3))))
    results = tuple(tool_message(ToolResult(call_id=call.id, name=call.name, content=draw(OUTPUTS))) for call in calls)
    asked = assistant(draw(st.sampled_from(["", "I look."])), *calls)
    return (asked.model_copy(update={"pinned": is_pinned}), *results)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Return a valid conversation that ends with the question which is being answered, maybe with work done for it."""
    before = [m for group in draw(st.lists(groups(), max_size=25)) for m in group]
    question = user("The question: " + draw(TEXTS))
    after = [m for group in draw(st.lists(groups(), max_size=3)) for m in group if group[0].role == "assistant"]
    return (*before, question, *after)


def question_of(history: tuple[Message, ...]) -> Message:
    return next(m for m in reversed(history) if m.role == "user" and m.text.startswith("The question: "))


def unreliable(seed: int, share: float = 0.3) -> Callable[[str], Answer]:
    """Return what fails in a `share` of its answers, each time in another way."""
    dice = random.Random(seed)

    def answer(text: str) -> Answer:
        if dice.random() >= share:
            return f"{SUMMARY} {dice.randrange(10**6)}"
        failures: list[Answer] = ["", "I'm sorry, I can't help with that.", (SUMMARY, "length"), "so much " * 4000]
        return dice.choice([*failures, ValueError("the connection broke")])

    return answer


class Rogue:
    """A phase that breaks one law, or fails."""

    def __init__(self, name: str, harm: Callable[[CompactionState], CompactionState]) -> None:
        self.name = name
        self._harm = harm

    async def run(self, state: CompactionState) -> CompactionState:
        return self._harm(state)


def _with(change: Callable[[tuple[Message, ...]], tuple[Message, ...]]) -> Callable[[CompactionState], CompactionState]:
    return lambda state: state.with_messages(change(state.messages))


def _raise(state: CompactionState) -> CompactionState:
    raise RuntimeError("this phase is broken")


def _lie(state: CompactionState) -> CompactionState:
    return replace(state, tokens=1, overhead=0, limit=10**9)


def _shout(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    return tuple(m.model_copy(update={"parts": user("LOUD " * 50).parts}) if m.role == "user" else m for m in messages)


ROGUES = {
    "drop-all": _with(lambda messages: ()),
    "drop-last": _with(lambda messages: messages[:-1]),
    "drop-first-half": _with(lambda messages: messages[len(messages) // 2 :]),
    "drop-results": _with(lambda messages: tuple(m for m in messages if m.role != "tool")),
    "drop-calls": _with(lambda messages: tuple(m for m in messages if not m.tool_calls)),
    "reverse": _with(lambda messages: messages[::-1]),
    "double": _with(lambda messages: (*messages, *messages)),
    "grow": _with(lambda messages: (*messages, user("more " * 500, source="kernel"))),
    "invent": _with(lambda messages: (user("I said so", source="user"), *messages[2:])),
    "shout": _with(_shout),
    "raise": _raise,
    "lie": _lie,
}
