"""The models of a request are asked in order until one gives a usable answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble_core import ToolCall, assistant
from bumble_core.builtin.endpoints import EndpointMemory
from bumble_core.builtin.inference import FallbackInference
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import (
    AllModelsFailed,
    AuthenticationError,
    ContextOverflow,
    InferenceError,
    MalformedReply,
    ModelMissing,
    Overloaded,
    ReplyCut,
    Unreachable,
)
from bumble_core.testing import Reply, ScriptedProvider
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef
from bumble_core.types.messages import Message, Thinking
from tests.http.asking import request
from tests.http.clocks import StillClock

Replies = list[Any]
DOWN = Unreachable("nobody there")
CUT = Completion(message=assistant("Half a sent"), finish="cut", model=ModelRef(model="m"))
SILENT_CUT = Completion(message=assistant(""), finish="cut", model=ModelRef(model="m"))


class Server(ScriptedProvider):
    """A scripted provider that lists models, and counts how often it is asked for the list."""

    def __init__(self, name: str, replies: Replies, *listed: tuple[str, int | None]) -> None:
        super().__init__(replies, name=name)
        self.listed = listed
        self.listings = 0

    async def models(self) -> tuple[ModelInfo, ...]:
        self.listings += 1
        return tuple(
            ModelInfo(ref=ModelRef(provider=self.name, model=model), context_window=window)
            for model, window in self.listed
        )


class Breaks(Server):
    """Says `words`, then fails."""

    def __init__(self, name: str, words: str, error: Exception) -> None:
        super().__init__(name, [])
        self._words, self._error = words, error

    async def stream(self, request: Any, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self.requests.append(request)
        yield Delta(text=self._words)
        raise self._error


class Circles(Server):
    """Begins well, then says one thing, or thinks it, until it is left."""

    def __init__(self, name: str, *, aloud: bool = True) -> None:
        super().__init__(name, [])
        self._aloud, self.is_left = aloud, False

    async def stream(self, request: Any, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self.requests.append(request)
        yield Delta(text="The sky is blue.")
        try:
            while True:
                await asyncio.sleep(0)
                yield Delta(text=" It is blue.") if self._aloud else Delta(thinking="Is it blue? ")
        finally:
            self.is_left = True


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., FallbackInference]:
    def make(*servers: Server, clock: StillClock | None = None, **windows: int) -> FallbackInference:
        clock = clock or StillClock()
        memory = EndpointMemory(tmp_path, SystemFiles(), clock)
        return FallbackInference({each.name: each for each in servers}, memory, clock, windows)

    return make


def order(*names: str, **fields: Any) -> Any:
    return request(models=tuple(ModelRef.parse(name) for name in names), **fields)


async def told(inference: FallbackInference, asked: Any) -> tuple[str, Completion]:
    text, done = "", None
    async with aclosing(inference.stream(asked)) as items:
        async for item in items:
            if isinstance(item, Completion):
                done = item
            else:
                text += item.text
    assert done is not None
    return text, done


async def failure(inference: FallbackInference, asked: Any) -> InferenceError:
    with pytest.raises(InferenceError) as caught:
        await told(inference, asked)
    return caught.value


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (DOWN, "nobody there"),
        (MalformedReply("nonsense"), "nonsense"),
        (RuntimeError("a bug"), "its provider raised RuntimeError: a bug"),
        (assistant(""), "replied with nothing"),
        (assistant("  \n"), "replied with nothing"),
        (SILENT_CUT, "the connection was lost"),
    ],
    ids=["error", "malformed", "bug", "empty", "blank", "cut"],
)
async def test_the_next_model_answers_for_one_that_does_not(made: Any, first: Reply, said: str) -> None:
    inference = made(Server("a", [first]), Server("b", [assistant("Hello.")]))
    _, done = await told(inference, order("a:m", "b:m"))
    assert done.message.text == "Hello."
    assert [(str(attempt.model), said in attempt.error) for attempt in done.failed_attempts] == [("a:m", True)]


@pytest.mark.parametrize(
    "reply",
    [
        Message(role="assistant", parts=(Thinking(text="Let me see."),), source="model"),
        assistant("", ToolCall(name="look")),
        assistant("Yes."),
    ],
    ids=["only-thought", "only-calls", "words"],
)
async def test_a_reply_that_says_something_counts(made: Any, reply: Message) -> None:
    _, done = await told(made(Server("a", [reply]), Server("b", [])), order("a:m", "b:m"))
    assert (done.message, done.failed_attempts) == (reply, ())


async def test_an_empty_reply_counts_when_nobody_has_more_to_say(made: Any) -> None:
    inference = made(Server("a", [assistant("")]), Server("b", [DOWN]))
    _, done = await told(inference, order("a:m", "b:m"))
    assert done.message.is_empty
    assert [attempt.error for attempt in done.failed_attempts] == ["`a:m` replied with nothing", "nobody there"]


async def test_failures_that_a_provider_tried_to_mend_travel_too(made: Any) -> None:
    error = Overloaded("still busy")
    error.earlier = (Overloaded("busy"),)
    _, done = await told(made(Server("a", [error]), Server("b", [assistant("Hi.")])), order("a:m", "b:m"))
    assert [attempt.error for attempt in done.failed_attempts] == ["busy", "still busy"]


@pytest.mark.parametrize(
    ("server", "partial", "kind"),
    [
        (lambda: Server("a", [CUT]), "Half a sent", ReplyCut),
        (lambda: Breaks("a", "Half", Overloaded("gone")), "Half", Overloaded),
        (lambda: Breaks("a", "Half", ContextOverflow("full", 10)), "Half", ContextOverflow),
        (lambda: Breaks("a", "Half", RuntimeError("bug")), "Half", InferenceError),
    ],
    ids=["cut", "error", "overflow", "bug"],
)
async def test_after_words_were_heard_nobody_is_asked_and_the_error_has_them(
    made: Any, server: Callable[[], Server], partial: str, kind: type[InferenceError]
) -> None:
    other = Server("b", [assistant("Hello.")])
    error = await failure(made(server(), other), order("a:m", "b:m"))
    assert (type(error), error.partial, error.is_retryable, other.requests) == (kind, partial, False, [])
    assert f"broke off after {len(partial)} characters" in str(error)


async def test_an_error_after_words_knows_who_failed_before(made: Any) -> None:
    error = await failure(made(Server("a", [DOWN]), Server("b", [CUT])), order("a:m", "b:m"))
    assert error.earlier == (DOWN,)


async def test_what_nobody_reads_is_asked_again_whatever_was_said(made: Any) -> None:
    inference = made(Server("a", [CUT]), Server("b", [assistant("A summary.")]))
    text, done = await told(inference, order("a:m", "b:m", purpose="compact"))
    assert (text, done.message.text) == ("", "A summary.")


async def test_the_only_model_fails_with_its_own_error(made: Any) -> None:
    assert await failure(made(Server("a", [DOWN])), order("a:m")) is DOWN


async def test_all_that_failed_are_named(made: Any) -> None:
    error = await failure(made(Server("a", [DOWN]), Server("b", [MalformedReply("what")])), order("a:m", "b:m", "c:m"))
    assert isinstance(error, AllModelsFailed)
    assert [(name, type(each)) for name, each in error.attempts] == [
        ("a:m", Unreachable),
        ("b:m", MalformedReply),
        ("c:m", ModelMissing),
    ]


async def test_overflow_of_the_first_model_is_raised_at_once(made: Any) -> None:
    other = Server("b", [assistant("Hello.")])
    error = await failure(made(Server("a", [ContextOverflow("long", 4096)]), other), order("a:m", "b:m"))
    assert isinstance(error, ContextOverflow)
    assert (error.window, other.requests) == (4096, [])


LONG = "word " * 4000  # some 5,000 tokens


async def long_request(inference: FallbackInference, *names: str) -> Any:
    return await told(inference, order(*names, messages=(assistant(LONG).model_copy(update={"role": "user"}),)))


async def test_a_model_that_cannot_hold_the_request_is_passed_over(made: Any) -> None:
    small, large = Server("b", [], ("m", 4096)), Server("c", [assistant("Hi.")], ("m", 32_768))
    _, done = await long_request(made(Server("a", [DOWN]), small, large), "a:m", "b:m", "c:m")
    assert (small.requests, done.message.text) == ([], "Hi.")
    assert "its window holds 4096" in done.failed_attempts[1].error


@pytest.mark.parametrize(
    ("configured", "listed", "is_asked"),
    [({}, None, True), ({}, 4096, False), ({"b:m": 32_768}, 4096, True), ({"b:m": 4096}, 32_768, False)],
    ids=["nobody-knows", "listed", "configured-larger", "configured-smaller"],
)
async def test_the_configured_window_wins_over_the_listed_one(
    made: Any, configured: dict[str, int], listed: int | None, is_asked: bool
) -> None:
    other = Server("b", [assistant("Hi.")], ("m", listed))
    with suppress(ContextOverflow):
        await long_request(made(Server("a", [DOWN]), other, **configured), "a:m", "b:m")
    assert bool(other.requests) is is_asked


async def test_a_window_that_an_overflow_told_is_remembered_in_the_home(made: Any) -> None:
    first = made(Server("a", [DOWN]), Server("b", [ContextOverflow("long", 4096)]))
    with pytest.raises(ContextOverflow):
        await long_request(first, "a:m", "b:m")
    other = Server("b", [])
    with pytest.raises(ContextOverflow, match="its window holds 4096"):
        await long_request(made(Server("a", [DOWN]), other), "a:m", "b:m")
    assert other.requests == []


async def test_when_nobody_answered_a_smaller_model_asks_for_compaction(made: Any) -> None:
    with pytest.raises(ContextOverflow, match="nobody there") as caught:
        await long_request(made(Server("a", [DOWN]), Server("b", [], ("m", 4096))), "a:m", "b:m")
    assert (caught.value.window, caught.value.earlier[0]) == (4096, DOWN)


async def test_a_list_is_asked_for_once(made: Any) -> None:
    small = Server("b", [], ("m", 4096))
    inference = made(Server("a", [DOWN, DOWN]), small)
    for _ in range(2):
        with pytest.raises(ContextOverflow):
            await long_request(inference, "a:m", "b:m")
    assert small.listings == 1


async def test_a_model_that_keeps_failing_is_passed_over_and_tried_again_later(made: Any) -> None:
    clock = StillClock()
    a, b = Server("a", [DOWN, DOWN, DOWN, assistant("Back.")]), Server("b", [assistant("b")] * 4)
    inference = made(a, b, clock=clock)
    dones = [(await told(inference, order("a:m", "b:m")))[1] for _ in range(4)]
    assert (len(a.requests), "was not asked: passed over for" in dones[3].failed_attempts[0].error) == (3, True)
    clock.slept.append(30)
    _, done = await told(inference, order("a:m", "b:m"))
    assert (done.message.text, done.failed_attempts) == ("Back.", ())


async def test_when_all_are_passed_over_the_one_that_opens_soonest_is_asked(made: Any) -> None:
    clock = StillClock()
    a, b = Server("a", [AuthenticationError("key")]), Server("b", [DOWN, DOWN, DOWN, assistant("I am back.")])
    inference = made(a, b, clock=clock)
    for _ in range(3):
        await failure(inference, order("a:m", "b:m"))
    _, done = await told(inference, order("a:m", "b:m"))
    assert (done.message.text, len(a.requests), len(b.requests)) == ("I am back.", 1, 4)
    assert len(done.failed_attempts) == 2


async def test_a_single_model_is_asked_however_often_it_failed(made: Any) -> None:
    server = Server("a", [DOWN] * 5 + [assistant("At last.")])
    inference = made(server)
    for _ in range(5):
        await failure(inference, order("a:m"))
    _, done = await told(inference, order("a:m"))
    assert done.message.text == "At last."


async def test_a_request_that_is_left_early_frees_its_trial(made: Any) -> None:
    clock = StillClock()
    a = Server("a", [DOWN] * 3 + [assistant("one\ntwo\n"), assistant("whole")])
    inference = made(a, Server("b", [assistant("b")] * 3), clock=clock)
    for _ in range(3):
        await told(inference, order("a:m", "b:m"))
    clock.slept.append(30)
    async with aclosing(inference.stream(order("a:m", "b:m"))) as items:
        await anext(items)
    _, done = await told(inference, order("a:m", "b:m"))
    assert done.message.text == "whole"


async def test_only_one_request_tries_a_model_that_was_down(made: Any) -> None:
    clock = StillClock()
    a = Server("a", [DOWN] * 3 + [assistant("one\ntwo\n")])
    inference = made(a, Server("b", [assistant("b")] * 4), clock=clock)
    for _ in range(3):
        await told(inference, order("a:m", "b:m"))
    clock.slept.append(30)
    async with aclosing(inference.stream(order("a:m", "b:m"))) as trial:
        await anext(trial)
        _, done = await told(inference, order("a:m", "b:m"))
    assert done.message.text == "b"
    assert "another request tries it" in done.failed_attempts[0].error


async def test_a_bare_name_is_resolved_in_the_order_of_the_providers(made: Any) -> None:
    a, b = Server("a", [], ("other", None)), Server("b", [assistant("b")] * 2, ("m", None))
    inference = made(a, b)
    for _ in range(2):
        _, done = await told(inference, order("m"))
    assert (str(done.model), a.listings, b.listings) == ("b:m", 1, 1)


async def test_a_bare_name_is_resolved_again_when_its_provider_no_longer_has_it(made: Any) -> None:
    a, b = Server("a", [assistant("a"), ModelMissing("gone")], ("m", None)), Server("b", [assistant("b")], ("m", None))
    inference = made(a, b)
    await told(inference, order("m"))
    a.listed = ()
    _, done = await told(inference, order("m"))
    assert (done.message.text, [each.error for each in done.failed_attempts]) == ("b", ["gone"])


async def test_a_bare_name_that_nobody_lists_says_what_to_write(made: Any) -> None:
    with pytest.raises(ModelMissing, match="PROVIDER:MODEL"):
        await told(made(Server("a", [])), order("m"))


OUTCOMES = {
    "answers": assistant("Hello."),
    "empty": assistant(""),
    "down": DOWN,
    "malformed": MalformedReply("nonsense"),
    "bug": RuntimeError("bug"),
    "cut": CUT,
    "silent-cut": SILENT_CUT,
    "key": AuthenticationError("key"),
    "overflow": ContextOverflow("long", 1000),
}


@given(
    rounds=st.lists(
        st.tuples(st.lists(st.sampled_from(sorted(OUTCOMES)), min_size=3, max_size=3), st.sampled_from([0, 40, 700])),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_fails_somebody_is_asked_and_one_thing_comes_of_it(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[tuple[list[str], int]]
) -> None:
    asyncio.run(_rounds(tmp_path_factory.mktemp("home"), rounds))


async def _rounds(home: Path, rounds: list[tuple[list[str], int]]) -> None:
    clock = StillClock()
    servers = [Server(name, []) for name in "abc"]
    memory = EndpointMemory(home, SystemFiles(), clock)
    inference = FallbackInference({each.name: each for each in servers}, memory, clock, {})
    for outcomes, pause in rounds:
        for server, outcome in zip(servers, outcomes, strict=True):
            server._replies.clear()
            server._replies.append(OUTCOMES[outcome])
            server.requests.clear()
        text, done, error = await _outcome(inference)
        if done is None:
            assert error is not None
            assert str(error)
            assert text == error.partial.strip() or not text
        else:
            assert (done.finish, text) == ("stop", done.message.text)
            assert done.message.text or len(done.failed_attempts) >= 3
        asked = [bool(server.requests) for server in servers]
        assert any(asked)
        assert all(len(server.requests) <= 1 for server in servers)
        clock.slept.append(pause)


async def _outcome(inference: FallbackInference) -> tuple[str, Completion | None, InferenceError | None]:
    text = ""
    try:
        async with aclosing(inference.stream(order("a:m", "b:m", "c:m"))) as items:
            async for item in items:
                if isinstance(item, Completion):
                    return text, item, None
                text += item.text
    except InferenceError as error:
        return text, None, error
    return text, None, None


@pytest.mark.parametrize("aloud", [True, False], ids=["words", "thought"])
async def test_a_reply_that_goes_in_circles_is_cut_on_the_way(made: Any, aloud: bool) -> None:
    server = Circles("a", aloud=aloud)
    text, done = await told(made(server, Server("b", [])), order("a:m", "b:m"))
    assert server.is_left
    assert (done.finish, str(done.model), done.failed_attempts) == ("length", "a:m", ())
    assert done.message.text == text
    assert 2_000 < len(text if aloud else done.message.thinking) < 2_500
    assert done.usage.estimated
    assert 500 <= done.usage.output_tokens <= 700


async def test_an_aside_that_goes_in_circles_is_cut_too(made: Any) -> None:
    text, done = await told(made(Circles("a")), order("a:m", purpose="compact"))
    assert (text, done.finish) == ("", "length")
    assert done.message.text.startswith("The sky is blue. It is blue.")
