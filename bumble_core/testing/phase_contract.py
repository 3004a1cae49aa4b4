"""The conformance suite of compaction phases: what each must leave as it was, whatever it does.

    class TestMine(CompactionPhaseContract):
        def make(self, inference: Inference, counter: TokenCounter) -> Phase:
            return MyPhase(inference)

The inference answers every request with `reply`; override it with what the phase needs to hear.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

from ..builtin.tokens import CharacterCounter
from ..compaction import broken_law
from ..errors import InferenceError
from ..ports import Inference, Phase, TokenCounter
from ..types.compaction import Bounds, CompactionState
from ..types.inference import Completion, Delta, ModelRef, Request
from ..types.messages import Message, ToolCall, ToolResult, assistant, tool_message, user

_MODEL = ModelRef(provider="contract", model="model")
_PROTECTED = 3  # messages at the end of each conversation


class _Answering:
    """Answers every request alike, or with an error."""

    def __init__(self, reply: str | None) -> None:
        self._reply = reply

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        if self._reply is None:
            raise InferenceError("nobody answers")
        yield Completion(message=assistant(self._reply), finish="stop", model=_MODEL)


class CompactionPhaseContract(ABC):
    """Tries a phase on conversations that are short, long, full of calls, pinned and compacted before.

    A phase may raise: the kernel undoes it then. What it returns keeps the laws.
    """

    reply = "Goal: finish the work. Progress: all files so far were read. Next Steps: read the others."

    @abstractmethod
    def make(self, inference: Inference, counter: TokenCounter) -> Phase: ...

    def test_it_has_a_name(self) -> None:
        name = self.make(_Answering(self.reply), CharacterCounter()).name
        assert name, "a phase is named in the configuration: `name` may not be empty"
        assert name == name.strip().lower(), f"{name!r}: written as it stands in `phases:`, in small letters"

    def test_an_empty_conversation_stays_empty(self) -> None:
        assert self._after(()).messages == ()

    def test_a_short_conversation_keeps_its_question(self) -> None:
        question = user("What is the code word?")
        after = self._after((user("The code word is heron."), assistant("Noted."), question))
        assert question in after.messages, "the input being answered left"

    def test_the_laws_hold_on_words(self) -> None:
        self._check(_talk(40))

    def test_the_laws_hold_on_calls_and_results(self) -> None:
        self._check(_work(20))

    def test_the_laws_hold_where_messages_are_pinned(self) -> None:
        self._check(tuple(_pinned(message, place) for place, message in enumerate(_work(20))))

    def test_the_laws_hold_while_a_call_is_pending(self) -> None:
        call = ToolCall(id="pending", name="read_file", arguments={})
        self._check((*_work(20)[:-1], user("Go on."), assistant("", call)))

    def test_the_laws_hold_on_a_view_that_was_compacted_before(self) -> None:
        summary = user("[Summary of earlier messages] Goal: read the files.", source="summary")
        self._check((*_work(1)[:4], summary, *_work(20)[4:]))

    def test_a_model_that_does_not_answer_does_no_harm(self) -> None:
        state = self._state(_work(20))
        phase = self.make(_Answering(None), CharacterCounter())
        try:
            after = asyncio.run(phase.run(state))
        except InferenceError:
            return
        assert broken_law(state, after.messages) is None, broken_law(state, after.messages)

    def test_nothing_grows(self) -> None:
        counter, state = CharacterCounter(), self._state(_work(20))
        after = self._after(state.messages)
        before, now = (counter.count(each, (), _MODEL) for each in (state.messages, after.messages))
        assert now <= before, f"grew from {before} to {now} tokens"

    def test_what_it_is_measured_by_stays(self) -> None:
        state = self._state(_work(20))
        after = self._after(state.messages)
        measures: tuple[Callable[[CompactionState], object], ...] = (
            lambda s: s.limit,
            lambda s: s.overhead,
            lambda s: s.keep,
            lambda s: s.models,
        )
        assert [read(after) for read in measures] == [read(state) for read in measures], "limits are the kernel's"

    def _check(self, messages: tuple[Message, ...]) -> None:
        state = self._state(messages)
        problem = broken_law(state, self._after(messages).messages)
        assert problem is None, problem

    def _after(self, messages: tuple[Message, ...]) -> CompactionState:
        phase = self.make(_Answering(self.reply), CharacterCounter())
        return asyncio.run(phase.run(self._state(messages)))

    def _state(self, messages: tuple[Message, ...]) -> CompactionState:
        """Return the state that the phases before it would leave: with bounds where there is a middle."""
        tokens = CharacterCounter().count(messages, (), _MODEL)
        last = next((m.id for m in reversed(messages) if m.role == "user"), "")
        state = CompactionState(
            owner="turn",
            models=(_MODEL,),
            messages=messages,
            tokens=tokens,
            limit=max(1, tokens // 2),
            target=max(1, tokens // 10),
            window=4096,
            ceiling=3072,
            keep=frozenset({last}),
            originals={message.id: message for message in messages},
        )
        head, tail = 4, len(messages) - _PROTECTED
        while 0 < tail < len(messages) and messages[tail].role == "tool":
            tail -= 1
        return replace(state, bounds=Bounds(head=head, tail=tail) if tail - head > 1 else None)


def _talk(turns: int) -> tuple[Message, ...]:
    said = [m for n in range(turns) for m in (user(f"question {n} " * 20), assistant(f"answer {n} " * 20))]
    return (*said, user("And now?"))


def _work(turns: int) -> tuple[Message, ...]:
    """Return groups of four: a question, a call, its result, an answer; then a last question."""
    said: list[Message] = []
    for number in range(turns):
        call = ToolCall(id=f"call_{number}", name="read_file", arguments={"path": f"src/part_{number}.py"})
        result = ToolResult(call_id=call.id, name=call.name, content=f"part {number} of the work\n" * 40)
        said += [
            user(f"read part {number}"),
            assistant("", call),
            tool_message(result),
            assistant(f"part {number} is read"),
        ]
    return (*said, user("And now?"))


def _pinned(message: Message, place: int) -> Message:
    return message.model_copy(update={"pinned": True}) if place in {9, 13, 16} else message
