"""How a model is brought to call tools is learnt once, and remembered."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble_core import ToolCall, assistant
from bumble_core.builtin.endpoints import EndpointMemory, LearntLevel
from bumble_core.builtin.levels import Levels
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import InferenceError, InvalidRequest, MalformedReply, Overloaded, Unreachable
from bumble_core.testing import RequestChecker
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request, ToolSpec, Usage
from bumble_core.types.messages import Message
from tests.http.asking import request
from tests.http.clocks import StillClock

REF = ModelRef(provider="stub", model="m")
LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}})
WRITTEN = '{"calls": [{"name": "look", "arguments": {}}]}'
NO_TOOLS = InvalidRequest("the server answered HTTP 400: tool_choice is not supported")
NO_SCHEMA = InvalidRequest("the server answered HTTP 400: response_format json_schema is not supported")
NO_GRAMMAR = Overloaded("the server answered HTTP 500: failed to parse grammar")
WORDS = assistant("Hello there!")


@dataclass
class Imitation:
    """A server that answers by what a request asks of it: `native`, `schema`, `prompted` or plain `words`."""

    native: Message | Completion | Exception = WORDS
    schema: Message | Completion | Exception = WORDS
    prompted: Message | Completion | Exception = WORDS
    words: Message | Completion | Exception = WORDS
    name: str = "stub"
    asked: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    _checker: RequestChecker = field(default_factory=RequestChecker)

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        self.requests.append(request)
        is_described = "You have the tools below" in request.messages[0].text
        kind = (
            "native" if request.tools else "schema" if request.reply_schema else "prompted" if is_described else "words"
        )
        self.asked.append(kind)
        reply = {"native": self.native, "schema": self.schema, "prompted": self.prompted, "words": self.words}[kind]
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Message):
            finish: Any = "tool_calls" if reply.tool_calls else "stop"
            reply = Completion(message=reply, finish=finish, model=REF, usage=Usage(input_tokens=10))
        yield Delta(text=reply.message.text)
        yield reply

    async def models(self) -> tuple[ModelInfo, ...]:
        return ()


@dataclass
class Bench:
    """One home and its clock; each `levels` is another process."""

    home: Path
    clock: StillClock = field(default_factory=StillClock)

    def levels(self) -> Levels:
        return Levels(EndpointMemory(self.home, SystemFiles(), self.clock), self.clock)

    async def ask(self, server: Any, choice: str = "required", levels: Levels | None = None) -> tuple[str, Completion]:
        text, done = "", None
        asked = request(tools=(LOOK,), tool_choice=choice)
        async with aclosing(await (levels or self.levels()).asking(asked, REF, server)) as items:
            async for item in items:
                if isinstance(item, Completion):
                    done = item
                else:
                    text += item.text
        assert done is not None
        return text, done

    async def known(self, key: str = "stub m") -> LearntLevel | None:
        return (await EndpointMemory(self.home, SystemFiles(), self.clock).of(key)).level

    async def level(self) -> str:
        known = await self.known()
        return known.level if known else ""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def calling() -> Message:
    return assistant("", ToolCall(name="look"))


def length_cut(text: str) -> Completion:
    return Completion(message=assistant(text), finish="length", model=REF)


SERVERS: list[tuple[str, Callable[[], Imitation], list[str], str, str, list[str]]] = [
    ("honours", lambda: Imitation(native=calling()), ["native"], "native", "", ["look"]),
    (
        "ignores-and-has-schemas",
        lambda: Imitation(schema=assistant(WRITTEN)),
        ["native", "schema"],
        "schema",
        "Hello there!",
        ["look"],
    ),
    ("ignores-everything", Imitation, ["native", "schema"], "text", "Hello there!", []),
    (
        "ignores-and-follows-words",
        lambda: Imitation(schema=assistant(f"Sure.\n```json\n{WRITTEN}\n```")),
        ["native", "schema"],
        "prompted",
        "Hello there!\n\nSure.",
        ["look"],
    ),
    (
        "refuses-tools",
        lambda: Imitation(native=NO_TOOLS, schema=assistant(WRITTEN)),
        ["native", "schema"],
        "schema",
        "",
        ["look"],
    ),
    (
        "refuses-both",
        lambda: Imitation(native=NO_TOOLS, schema=NO_SCHEMA, prompted=assistant(WRITTEN)),
        ["native", "schema", "prompted"],
        "prompted",
        "",
        ["look"],
    ),
    (
        "refuses-both-and-only-talks",
        lambda: Imitation(native=NO_TOOLS, schema=NO_GRAMMAR),
        ["native", "schema", "prompted"],
        "text",
        "Hello there!",
        [],
    ),
    (
        "ignores-tools-and-refuses-schemas",
        lambda: Imitation(schema=NO_SCHEMA),
        ["native", "schema"],
        "prompted",
        "Hello there!",
        [],
    ),
]


@pytest.mark.parametrize(
    ("server", "asked", "level", "words", "calls"), [row[1:] for row in SERVERS], ids=[row[0] for row in SERVERS]
)
async def test_a_level_is_learnt_from_what_a_server_does(
    bench: Bench, server: Callable[[], Imitation], asked: list[str], level: str, words: str, calls: list[str]
) -> None:
    imitation = server()
    text, done = await bench.ask(imitation)
    assert (imitation.asked, await bench.level()) == (asked, level)
    assert (text, done.message.text, [call.name for call in done.message.tool_calls]) == (words, words, calls)


@pytest.mark.parametrize(
    ("server", "level"), [(row[1], row[3]) for row in SERVERS], ids=[f"{row[0]}-again" for row in SERVERS]
)
async def test_what_was_learnt_is_asked_once_by_the_next_process(
    bench: Bench, server: Callable[[], Imitation], level: str
) -> None:
    imitation = server()
    await bench.ask(imitation)
    imitation.asked.clear()
    await bench.ask(imitation)
    assert imitation.asked == ["words" if level == "text" else level]


async def test_the_requests_of_a_lesson_are_paid_and_told(bench: Bench) -> None:
    _, done = await bench.ask(Imitation(schema=assistant(WRITTEN)))
    assert done.usage.input_tokens == 20
    assert [attempt.error for attempt in done.failed_attempts] == [
        "replied in words where a call was forced; asked again"
    ]


async def test_what_was_learnt_is_kept_with_its_reason_and_date(bench: Bench) -> None:
    await bench.ask(Imitation(native=NO_TOOLS, schema=assistant(WRITTEN)))
    kept = json.loads((bench.home / "endpoints.json").read_text())["models"]["stub m"]["level"]
    assert kept["level"] == "schema"
    assert "native: refused: the server answered HTTP 400" in kept["reason"]
    assert kept["at"] == "2026-03-01T12:00:00Z"


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("nobody"),
        InvalidRequest("messages[3].content must be a string"),
        InvalidRequest("Invalid schema for function 'look': 'objekt' is not a type"),
        InvalidRequest("An assistant message with 'tool_calls' must be followed by tool messages"),
        Overloaded("no tool is supported today"),
    ],
    ids=["unreachable", "another-400", "bad-tool", "bad-history", "overloaded"],
)
async def test_another_failure_is_no_evidence(bench: Bench, error: InferenceError) -> None:
    imitation = Imitation(native=error)
    with pytest.raises(type(error)):
        await bench.ask(imitation)
    assert (imitation.asked, await bench.level()) == (["native"], "")


async def test_after_words_were_heard_a_refusal_is_not_asked_again(bench: Bench) -> None:
    class Late(Imitation):
        async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
            self.asked.append("late")
            yield Delta(text="Well, ")
            raise NO_TOOLS

    await bench.ask(Imitation(native=calling()))
    late = Late()
    with pytest.raises(InvalidRequest):
        await bench.ask(late)
    assert late.asked == ["late"]


async def test_words_that_came_are_the_reply_when_the_second_request_fails(bench: Bench) -> None:
    text, done = await bench.ask(Imitation(schema=Unreachable("gone")))
    assert (text, done.message.text, await bench.level()) == ("Hello there!", "Hello there!", "")
    assert [attempt.error for attempt in done.failed_attempts][-1] == "gone"


@pytest.mark.parametrize(
    "reply",
    [
        length_cut(""),
        Completion(message=assistant("Ha"), finish="cut", model=REF),
        Completion(message=assistant("Ha"), finish="filtered", model=REF),
    ],
    ids=["empty-at-its-length", "cut", "filtered"],
)
async def test_a_reply_without_an_end_is_no_evidence(bench: Bench, reply: Completion) -> None:
    imitation = Imitation(native=reply)
    _, done = await bench.ask(imitation)
    assert (imitation.asked, await bench.level()) == (["native"], "")
    assert done.message == reply.message


async def test_nothing_at_all_where_a_call_was_forced_is_asked_again_with_a_schema(bench: Bench) -> None:
    imitation = Imitation(native=assistant(""), schema=assistant(WRITTEN))
    text, done = await bench.ask(imitation)
    assert (imitation.asked, await bench.level()) == (["native", "schema"], "schema")
    assert (text, done.message.text, done.finish) == ("", "", "tool_calls")


async def test_nothing_at_all_twice_is_no_evidence(bench: Bench) -> None:
    imitation = Imitation(native=assistant(""), schema=assistant(""))
    _, done = await bench.ask(imitation)
    assert (imitation.asked, await bench.level(), done.message.is_empty) == (["native", "schema"], "", True)


async def test_words_up_to_the_longest_reply_are_words(bench: Bench) -> None:
    _, done = await bench.ask(Imitation(native=length_cut("Once upon a"), schema=assistant(WRITTEN)))
    assert (done.finish, done.message.text, await bench.level()) == ("tool_calls", "Once upon a", "schema")


async def test_half_a_list_of_calls_is_refused_and_shows_that_the_schema_is_kept_to(bench: Bench) -> None:
    _, done = await bench.ask(Imitation(schema=length_cut(WRITTEN[:-8])))
    (call,) = done.message.tool_calls
    assert (call.name, "cut at its maximum length" in call.problem, await bench.level()) == ("look", True, "schema")


async def test_a_server_that_refuses_what_it_honoured_is_learnt_again_at_once(bench: Bench) -> None:
    await bench.ask(Imitation(native=calling()))
    changed = Imitation(native=NO_TOOLS, schema=assistant(WRITTEN))
    _, done = await bench.ask(changed)
    assert (changed.asked, await bench.level()) == (["native", "schema"], "schema")
    assert [call.name for call in done.message.tool_calls] == ["look"]


async def test_two_replies_in_words_one_after_another_make_a_level_doubtful(bench: Bench) -> None:
    await bench.ask(Imitation(native=calling()))
    changed = Imitation(schema=assistant(WRITTEN))
    texts = [(await bench.ask(changed))[0] for _ in range(3)]
    assert changed.asked == ["native", "native", "native", "schema"]
    assert (texts[:2], await bench.level()) == (["Hello there!"] * 2, "schema")


async def test_a_call_between_two_replies_in_words_settles_the_doubt(bench: Bench) -> None:
    for reply in (calling(), WORDS, calling(), WORDS):
        await bench.ask(Imitation(native=reply))
    known = await bench.known()
    assert known is not None
    assert (known.level, known.misses) == ("native", 1)


async def test_a_prompted_model_that_answers_in_words_twice_is_left_to_talk(bench: Bench) -> None:
    await bench.ask(Imitation(native=NO_TOOLS, schema=NO_SCHEMA, prompted=assistant(WRITTEN)))
    changed = Imitation()
    for _ in range(3):
        await bench.ask(changed)
    assert (changed.asked, await bench.level()) == (["prompted", "prompted", "words"], "text")


@pytest.mark.parametrize(
    ("server", "days", "first"),
    [
        (lambda: Imitation(native=calling()), 365, ["native"]),
        (lambda: Imitation(schema=assistant(WRITTEN)), 6, ["schema"]),
        (lambda: Imitation(schema=assistant(WRITTEN)), 8, ["native", "schema"]),
        (Imitation, 8, ["native", "schema"]),
    ],
    ids=["native-stays", "schema-fresh", "schema-old", "text-old"],
)
async def test_a_level_below_native_is_learnt_again_after_a_week(
    bench: Bench, server: Callable[[], Imitation], days: int, first: list[str]
) -> None:
    await bench.ask(server())
    bench.clock.slept.append(timedelta(days=days).total_seconds())
    later = server()
    await bench.ask(later)
    assert later.asked == first


@pytest.mark.parametrize("choice", ["auto", "none"])
async def test_without_force_a_model_that_ignores_tools_is_told_of_them_in_words(bench: Bench, choice: str) -> None:
    await bench.ask(Imitation(schema=assistant(WRITTEN)))
    free = Imitation(prompted=assistant(f"Let me look.\n```\n{WRITTEN}\n```"))
    text, done = await bench.ask(free, choice)
    assert (free.asked, text.strip(), done.message.text) == (["prompted"], "Let me look.", "Let me look.")
    assert [call.name for call in done.message.tool_calls] == ["look"]


async def test_without_force_words_are_a_reply_and_nothing_is_learnt(bench: Bench) -> None:
    imitation = Imitation()
    text, _ = await bench.ask(imitation, "auto")
    assert (text, imitation.asked, await bench.level()) == ("Hello there!", ["native"], "")


async def test_a_server_that_refuses_tools_that_nobody_forced_is_asked_in_words(bench: Bench) -> None:
    imitation = Imitation(native=NO_TOOLS, prompted=WORDS)
    text, _ = await bench.ask(imitation, "auto")
    assert (text, imitation.asked, await bench.level()) == ("Hello there!", ["native", "prompted"], "schema")


async def test_another_address_is_another_endpoint(bench: Bench) -> None:
    class Addressed(Imitation):
        address = "http://127.0.0.1:1/v1"

    await bench.ask(Addressed(native=calling()))
    assert await bench.known("http://127.0.0.1:1/v1 m") is not None
    assert await bench.known() is None


@pytest.mark.parametrize(
    ("server", "requests", "level"), [(row[1], min(len(row[2]), 2), row[3]) for row in SERVERS[:5]]
)
async def test_a_probe_takes_at_most_two_requests(
    bench: Bench, server: Callable[[], Imitation], requests: int, level: str
) -> None:
    imitation = server()
    learnt = await bench.levels().probe(REF, imitation)
    assert (learnt.level, len(imitation.requests)) == (level, requests)
    assert {(each.purpose, each.owner[:6]) for each in imitation.requests} == {("probe", "probe_")}
    assert await bench.known() == learnt


async def test_a_probe_that_was_refused_twice_leaves_words_to_be_tried(bench: Bench) -> None:
    imitation = Imitation(native=NO_TOOLS, schema=NO_SCHEMA)
    learnt = await bench.levels().probe(REF, imitation)
    assert (learnt.level, len(imitation.requests)) == ("prompted", 2)
    assert learnt.reason.endswith("prompted: not tried yet")


async def test_a_probe_learns_anew(bench: Bench) -> None:
    await bench.ask(Imitation())
    assert (await bench.levels().probe(REF, Imitation(native=calling()))).level == "native"


async def test_a_probe_asks_for_the_configured_window(bench: Bench) -> None:
    imitation = Imitation(native=calling())
    await bench.levels().probe(REF, imitation, 8_192)
    assert [request.context_window for request in imitation.requests] == [8_192]


async def test_a_probe_that_nothing_comes_of_says_so(bench: Bench) -> None:
    with pytest.raises(MalformedReply, match="level is not known"):
        await bench.levels().probe(REF, Imitation(native=assistant(""), schema=assistant("")))
    assert await bench.known() is None


async def test_a_provider_that_gives_no_completion_is_malformed(bench: Bench) -> None:
    class Silent(Imitation):
        async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
            yield Delta(text="well")

    with pytest.raises(MalformedReply, match="without a completion"):
        await bench.ask(Silent(), "auto")
