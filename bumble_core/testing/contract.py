"""The conformance suite of providers: what each must make of whatever its server sends.

    class TestMine(ProviderContract):
        wire = CHAT

        def make(self, url: str, key: str) -> Provider:
            return MyProvider(url, key)

Let the provider ask once, or wait on a `StillClock`: the suite sends errors that a provider may ask again after.
"""

from __future__ import annotations

import asyncio
import base64
import traceback
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Literal

from typing_extensions import override

from ..errors import AuthenticationError, ContextOverflow, InferenceError, Overloaded, RateLimited, Unreachable
from ..ports import Provider
from ..types.inference import Request, ToolSpec, Usage
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
from .live_contract import Heard, LiveProviderContract, hear, run
from .stub_server import Pause, StubReply, StubRequest, StubServer
from .threads import serving, until, unused_url
from .wires import CHAT, COUNTED, Wire

_READ = ToolSpec(
    name="read_note", description="Read a note.", parameters={"type": "object", "properties": {"path": {}}}
)
_CALLS = (
    ToolCall(id="call_a", name="read_note", arguments={"path": "mü🐝.txt", "n": [1, {"x": None}]}),
    ToolCall(id="call_b", name="read_note", arguments={"path": "b.txt"}),
)
_LARGE = "All work and no play. 🐝 " * 60_000  # some 1.7 MB


class ProviderContract(LiveProviderContract):
    """Tries a provider against a server that plays scripted replies.

    `wire` is the shape that the provider reads: `CHAT`, `OLLAMA`, or one of your own.
    """

    wire: Wire = CHAT
    key = "sk-contract-0b9d2f6a7c"

    @override
    @contextmanager
    def provider(self) -> Iterator[Provider]:
        with serving(self._answers) as stub:
            yield self.make(stub.url, self.key)

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

    def test_each_error_says_what_the_caller_can_do(self) -> None:
        overflow = "This model's maximum context length is 4096 tokens, your messages have 9120 tokens."
        wanted: tuple[tuple[StubReply, type[InferenceError]], ...] = (
            (self.wire.refusal(401, "no such key"), AuthenticationError),
            (self.wire.refusal(429, "slow down", {"retry-after": "7"}), RateLimited),
            (self.wire.refusal(500, "it broke"), Overloaded),
            (self.wire.refusal(400, overflow), ContextOverflow),
        )
        for reply, kind in wanted:
            error = self._error(reply)
            assert type(error) is kind, f"HTTP {reply.status} became {error!r}"
            if isinstance(error, RateLimited):
                assert error.retry_after_s is not None, "`retry-after: 7` was lost"
                assert 7 <= error.retry_after_s < 8, f"`retry-after: 7` became {error.retry_after_s} s"

    def test_nobody_there_is_unreachable(self) -> None:
        error = self._raised(self.make(unused_url(), self.key))
        assert type(error) is Unreachable, repr(error)

    def test_what_is_no_reply_is_an_error(self) -> None:
        for body in (b"", b"<html>Sign in</html>", b"\xff\xfe\x00"):
            error = self._error(StubReply(body=[body]))
            assert str(error), f"the body {body!r} became an error without a word"

    def test_leaving_a_stream_closes_its_connection(self) -> None:
        parts = self.wire.answer(assistant("Hello there."))
        with serving([StubReply(headers=self.wire.reply(parts).headers, body=parts[:2], end="hang")]) as stub:
            provider = self.make(stub.url, self.key)
            run(provider, lambda: self._left(provider, stub))

    def test_cancelling_a_request_closes_its_connection(self) -> None:
        with serving([StubReply(body=[Pause(60)])]) as stub:
            provider = self.make(stub.url, self.key)
            run(provider, lambda: self._cancelled(provider, stub))

    def test_no_secret_is_in_an_error_or_in_the_provider(self) -> None:
        forms = (self.key, base64.b64encode(self.key.encode()).decode())
        for status in (400, 401, 429, 500):
            with serving(partial(self._echo, status)) as stub:
                provider = self.make(stub.url, self.key)
                error = self._raised(provider)
                shown = "".join(traceback.format_exception(error)) + repr(error) + repr(provider)
                assert [form for form in forms if form in shown] == [], f"HTTP {status} gives the key away"

    def heard(self, reply: StubReply, asked: Request | None = None) -> Heard:
        """Return what the provider makes of one reply."""
        with serving([reply]) as stub:
            provider = self.make(stub.url, self.key)
            return run(provider, lambda: hear(provider, asked or self.asking(), self.model))

    def said(
        self, message: Message, *, finish: Literal["stop", "length"] = "stop", usage: Usage | None = COUNTED
    ) -> StubReply:
        """Return the reply that says `message`."""
        return self.wire.reply(self.wire.answer(message, finish=finish, usage=usage))

    def _answers(self, request: StubRequest) -> StubReply:
        if request.method == "GET":
            return self.wire.listing([self.model, "another"])
        return self.said(assistant("Hello there."))

    def _echo(self, status: int, request: StubRequest) -> StubReply:
        return self.wire.refusal(status, f"I do not like {dict(request.headers)}")

    def _error(self, reply: StubReply) -> InferenceError:
        with serving([reply]) as stub:
            return self._raised(self.make(stub.url, self.key))

    def _raised(self, provider: Provider) -> InferenceError:
        try:
            heard = run(provider, lambda: hear(provider, self.asking(), self.model))
        except InferenceError as error:
            return error
        raise AssertionError(f"an error was expected and {heard.completion!r} came")

    async def _never_finished(self, provider: Provider, cuts: Sequence[StubReply], current: list[StubReply]) -> None:
        for at, reply in enumerate(cuts):
            current.append(reply)
            try:
                completion = (await hear(provider, self.asking(), self.model)).completion
            except InferenceError:
                continue
            assert completion.finish == "cut", f"a reply cut after {at} bytes ended as `{completion.finish}`"
            assert not completion.message.tool_calls, f"a reply cut after {at} bytes has calls"

    async def _left(self, provider: Provider, stub: StubServer) -> None:
        async with aclosing(provider.stream(self.asking(), self.model)) as items:
            await anext(items)
        await until(lambda: stub.left_early)

    async def _cancelled(self, provider: Provider, stub: StubServer) -> None:
        task = asyncio.ensure_future(hear(provider, self.asking(), self.model))
        await until(lambda: stub.requests)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled(), f"a cancelled request ended with {task}"
        await until(lambda: stub.left_early)
