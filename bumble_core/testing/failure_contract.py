"""What a provider must make of errors, of a server that is not there, and of a caller that goes away."""

from __future__ import annotations

import asyncio
import base64
import traceback
from contextlib import aclosing
from functools import partial

from ..errors import AuthenticationError, ContextOverflow, InferenceError, Overloaded, RateLimited, Unreachable
from ..ports import Provider
from ..types.inference import Delta
from ..types.messages import assistant
from .live_contract import hear, run
from .stub_server import Pause, StubReply, StubRequest, StubServer
from .stubbed_contract import StubbedContract
from .threads import serving, until, unused_url


class FailureContract(StubbedContract):
    """The tests of failures."""

    def test_each_error_says_what_the_caller_can_do(self) -> None:
        overflow = "This model's maximum context length is 4096 tokens, your messages have 9120 tokens."
        wanted: tuple[tuple[StubReply, type[InferenceError]], ...] = (
            (self.wire.refusal(401, "no such key"), AuthenticationError),
            (self.wire.refusal(429, "slow down", {"retry-after": "7"}), RateLimited),
            (self.wire.refusal(500, "it broke"), Overloaded),
            (self.wire.refusal(400, overflow), ContextOverflow),
        )
        for reply, kind in wanted:
            error = self.failed(reply)
            assert type(error) is kind, f"HTTP {reply.status} became {error!r}"
            if isinstance(error, RateLimited):
                assert error.retry_after_s is not None, "`retry-after: 7` was lost"
                assert 7 <= error.retry_after_s < 8, f"`retry-after: 7` became {error.retry_after_s} s"

    def test_an_error_inside_a_reply_comes_after_what_was_said(self) -> None:
        parts = self.wire.answer(assistant("Half an answer"))
        said = [*parts[: len(parts) // 2], self.wire.broken("the model died")]
        with serving([self.wire.reply(said)]) as stub:
            provider = self.make(stub.url, self.key)
            text, error = run(provider, lambda: self._broken_off(provider))
        assert text, "what was said before the error was lost"
        assert "Half an answer".startswith(text), text
        assert "the model died" in str(error), repr(error)
        assert not error.is_retryable, "words that were heard would be said twice"

    def test_nobody_there_is_unreachable(self) -> None:
        error = self.raised(self.make(unused_url(), self.key))
        assert type(error) is Unreachable, repr(error)

    def test_what_is_no_reply_is_an_error(self) -> None:
        for body in (b"", b"<html>Sign in</html>", b"\xff\xfe\x00"):
            error = self.failed(StubReply(body=[body]))
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
                error = self.raised(provider)
                shown = "".join(traceback.format_exception(error)) + repr(error) + repr(provider)
                assert [form for form in forms if form in shown] == [], f"HTTP {status} gives the key away"

    def _echo(self, status: int, request: StubRequest) -> StubReply:
        return self.wire.refusal(status, f"I do not like {dict(request.headers)}")

    async def _broken_off(self, provider: Provider) -> tuple[str, InferenceError]:
        text = ""
        try:
            async with aclosing(provider.stream(self.asking(), self.model)) as items:
                async for item in items:
                    text += item.text if isinstance(item, Delta) else ""
        except InferenceError as error:
            return text, error
        raise AssertionError("an error inside a reply was taken for its end")

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
