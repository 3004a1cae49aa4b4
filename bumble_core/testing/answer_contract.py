"""What a provider must make of answers: words, thoughts, calls, counts, and where they end."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from ..errors import InferenceError
from ..ports import Provider
from ..types.inference import ToolSpec
from ..types.messages import (
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    assistant,
    system,
    tool_message,
    user,
)
from .live_contract import hear, run
from .stub_server import StubReply
from .stubbed_contract import StubbedContract
from .threads import serving
from .wires import COUNTED

_READ = ToolSpec(
    name="read_note", description="Read a note.", parameters={"type": "object", "properties": {"path": {}}}
)
_CALLS = (
    ToolCall(id="call_a", name="read_note", arguments={"path": "mü🐝.txt", "n": [1, {"x": None}]}),
    ToolCall(id="call_b", name="read_note", arguments={"path": "b.txt"}),
)
_LARGE = "All work and no play. 🐝 " * 60_000  # some 1.7 MB


class AnswerContract(StubbedContract):
    """The tests of answers."""

    @override
    def test_a_reply_at_its_limit_says_so(self) -> None:
        heard = self.heard(self.said(assistant("One two"), finish="length"))
        assert (heard.completion.finish, heard.text) == ("length", "One two"), heard

    def test_what_was_thought_is_not_said(self) -> None:
        parts: tuple[Part, ...] = (Thinking(text="They greet me."), Text(text="Hello."))
        heard = self.heard(self.said(Message(role="assistant", parts=parts, source="model")))
        assert (heard.message.text, heard.message.thinking) == ("Hello.", "They greet me."), heard

    def test_tokens_that_the_server_counts_are_taken_over(self) -> None:
        assert self.heard(self.said(assistant("Hello."))).completion.usage == COUNTED

    def test_tokens_that_nobody_counts_are_estimated_and_marked(self) -> None:
        usage = self.heard(self.said(assistant("Hello, who is there?"), usage=None)).completion.usage
        assert usage.estimated, usage
        assert usage.input_tokens > 0, usage
        assert usage.output_tokens > 0, usage

    def test_calls_come_back_whole(self) -> None:
        heard = self.heard(self.said(assistant("", *_CALLS)))
        got = [(call.name, call.arguments, call.problem) for call in heard.message.tool_calls]
        assert got == [(call.name, call.arguments, "") for call in _CALLS], got
        assert heard.completion.finish == "tool_calls", heard.completion

    def test_ids_of_calls_are_unique_and_never_empty(self) -> None:
        for given in ("", "call_1"):
            calls = [call.model_copy(update={"id": given}) for call in _CALLS]
            ids = [call.id for call in self.heard(self.said(assistant("", *calls))).message.tool_calls]
            assert len(ids) == len(_CALLS), f"ids {given!r} became {ids}"
            assert len(set(ids)) == len(ids), f"ids {given!r} became {ids}"
            assert all(ids), f"ids {given!r} became {ids}"

    def test_a_call_that_does_not_parse_has_a_problem(self) -> None:
        for raw in ('{"path": "a', "[]", "null", "sunny"):
            call = ToolCall(id="call_a", name="read_note", raw=raw)
            (got,) = self.heard(self.said(assistant("", call))).message.tool_calls
            assert got.problem, f"the arguments {raw!r} became {got.arguments} without a problem"
            assert got.arguments == {}, f"the arguments {raw!r} became {got.arguments}"

    def test_no_call_of_a_reply_cut_by_its_length_may_run(self) -> None:
        heard = self.heard(self.said(assistant("Let me see.", *_CALLS), finish="length"))
        assert heard.completion.finish == "length", heard.completion
        assert all(call.problem for call in heard.message.tool_calls), heard.message.tool_calls

    def test_a_reply_cut_at_any_byte_is_never_finished(self) -> None:
        parts = self.wire.answer(assistant("Grüße 🐝", _CALLS[0]), piece=100)
        data, told = b"".join(parts), self.wire.told(parts)
        cuts = [StubReply(headers=self.wire.reply(parts).headers, body=[data[:at]], end="cut") for at in range(told)]
        current: list[StubReply] = []
        with serving(lambda request: current[-1]) as stub:
            provider = self.make(stub.url, self.key)
            run(provider, lambda: self._never_finished(provider, cuts, current))

    def test_a_large_answer_arrives_whole(self) -> None:
        parts = self.wire.answer(assistant(_LARGE), piece=50_000)
        assert self.heard(self.wire.reply(parts)).text == _LARGE

    def test_characters_may_be_cut_anywhere(self) -> None:
        text = "Grüße 🐝 one\u2028two\u0085three\r\nfour \u0301"
        data = b"".join(self.wire.answer(assistant(text)))
        reply = self.wire.reply([data[at : at + 1] for at in range(len(data))])
        heard = self.heard(reply)
        assert (heard.text, heard.message.text) == (text, text), heard

    def test_a_history_with_calls_is_sent_as_it_was(self) -> None:
        results = [tool_message(ToolResult(call_id=c.id, name=c.name, content="out")) for c in _CALLS]
        history = (
            system("Be brief."),
            user("Read."),
            assistant("", *_CALLS),
            *results,
            assistant("Done."),
            user("And?"),
        )
        asked = self.asking(*history).model_copy(update={"tools": (_READ,)})
        assert self.heard(self.said(assistant("Hello.")), asked).text == "Hello."

    async def _never_finished(self, provider: Provider, cuts: Sequence[StubReply], current: list[StubReply]) -> None:
        for at, reply in enumerate(cuts):
            current.append(reply)
            try:
                completion = (await hear(provider, self.asking(), self.model)).completion
            except InferenceError:
                continue
            assert completion.finish == "cut", f"a reply cut after {at} bytes ended as `{completion.finish}`"
            assert not completion.message.tool_calls, f"a reply cut after {at} bytes has calls"
