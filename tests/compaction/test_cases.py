"""Cases H07 and H14, from their data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Runtime, Settings, Turn, assemble
from bumble_core.history import merged
from bumble_core.testing import StillClock, StubReply, check_history
from bumble_core.testing.bodies import messages_of
from bumble_core.testing.stub_replies import json_reply
from bumble_core.testing.stub_server import StubServer
from bumble_core.testing.threads import serving
from bumble_core.types.record import Turn as Record
from tests.compaction.bench import Bench, Summariser, conversation, settings, summaries
from tests.http.streams import case
from tests.pieces import ManualClock
from tests.shipped import construct_shipped

H07, H14 = case("H07"), case("H14")
_FEWEST = 4  # messages; router, judge and summariser send fewer, requests of the turn hold the history


def bench_of(case: dict[str, Any], home: Path) -> Bench:
    config = dict(case["given"]["config"])
    answer = case["given"]["summariser"].split("'")[1]
    return Bench(home, Summariser(answer), settings(config.pop("max_context_tokens"), **config))


async def test_h14_a_compacted_history_is_valid_and_keeps_what_must_stay(tmp_path: Path) -> None:
    bench, then = bench_of(H14, tmp_path), H14["then"]["history"]
    history = conversation(H14["given"]["history"])
    after = await bench.compact(history)
    check_history(merged(after.messages))
    assert after.messages[-1] == history[-1]
    assert after.messages[:2] == history[:2]
    assert [then["summary_present_once"] in m.text for m in after.messages].count(True) == 1
    assert after.tokens < bench.state(history).tokens
    assert len(bench.summariser.asked) == then["summariser_calls"]


async def test_h14_calls_and_results_stay_together_where_a_naive_cut_would_part_them(tmp_path: Path) -> None:
    after = await bench_of(H14, tmp_path).compact(conversation(H14["given"]["history"]))
    calls = [call.id for message in after.messages for call in message.tool_calls]
    assert calls == [result.call_id for message in after.messages for result in message.tool_results]


async def test_h14_a_second_compaction_adds_no_second_summary(tmp_path: Path) -> None:
    bench = bench_of(H14, tmp_path)
    first = await bench.compact(conversation(H14["given"]["history"]))
    second = await bench.again(first)
    assert second.messages == first.messages
    assert len(summaries(second.messages)) == 1


async def test_h14_a_short_history_keeps_the_question(tmp_path: Path) -> None:
    history = conversation(H14["given"]["short_history"])
    after = await bench_of(H14, tmp_path).compact(history)
    assert after.messages[-1] == history[-1]
    assert len(after.messages) >= H14["then"]["short_history"]["messages_after_at_least"]
    check_history(after.messages)


class Told:
    """What came of the turn of H07."""

    def __init__(self, turn: Turn, stub: StubServer, view: tuple[Any, ...], log: tuple[Turn, ...]) -> None:
        self.turn, self.view, self.log = turn, view, log
        bodies = [request.json for request in stub.requests if request.json]
        self.compacting = [body for body in bodies if "Summarise the record" in str(body)]
        self.asked = [body for body in bodies if len(body["messages"]) > _FEWEST]


HISTORY = conversation(H07["given"]["history_before_this_turn"])


def earlier() -> Record:
    """Return one turn of the log that holds the history of the case."""
    at = ManualClock().now()
    return Record(id="t0", session_id="default", started=at, finished=at, status="done", messages=HISTORY)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    async def play(runtime: Runtime, stub: StubServer) -> Told:
        async with runtime:
            await runtime.sessions.restore("default", (earlier(),))
            turn = await runtime.answer(H07["given"]["user_message"])
            view = (await runtime.sessions.resume("default")).view
            return Told(turn, stub, view, await runtime.sessions.turns())

    async def answer(*replies: StubReply) -> Told:
        with serving(replies) as stub:
            section = {"openai": {"base_url": f"{stub.url}/v1", "retry_jitter": 0}}
            plugins = construct_shipped("router", "judge", "compactor", "openai", **section)
            compression = {"compaction_flush_to_knowledge": False}
            windows = {"openai:m": H07["given"]["config"]["max_context_tokens"]}  # or its server would be asked
            config = {**H07["given"]["config"], "history_compression": compression, "model_windows": windows}
            found = Settings.model_validate(
                {"agent": {"models": ["openai:m"]}, "home": tmp_path / "home", "cognition": config}
            )
            runtime = assemble(found, plugins=plugins, discovers=False, run_jobs=False, clock=StillClock())
            return await play(runtime, stub)

    return answer


def reply_of(text: str) -> StubReply:
    choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return json_reply({"choices": [choice]})


def refusal(row: dict[str, Any]) -> StubReply:
    kind = "text/html" if row["body"].startswith("<") else "application/json"
    return StubReply(status=row["status"], headers={"content-type": kind}, body=[row["body"].encode()])


ROWS = {row["name"]: row for row in H07["given"]["rows"]}
SUMMARY = reply_of(H07["given"]["summariser"].split("'")[1])


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row["overflow"]])
async def test_h07_an_overflow_is_compacted_once_and_answered(name: str, told: Callable[..., Any]) -> None:
    then = H07["then"]["overflow_rows"]
    seen: Told = await told(refusal(ROWS[name]), SUMMARY, reply_of("4"))
    first, second = seen.asked
    share = float(then["second_request_chars_at_most"].split()[0])
    assert len(str(second["messages"])) <= share * len(str(first["messages"]))
    assert len(seen.compacting) <= then["summariser_calls_at_most"]
    assert H07["given"]["user_message"] in str(second["messages"][-1])
    messages_of(second)
    assert (seen.turn.status, seen.turn.text) == ("done", "4")


async def test_h07_where_every_request_overflows_the_turn_ends_with_a_clear_error(told: Callable[..., Any]) -> None:
    then = H07["then"]["if_every_request_overflows"]
    seen: Told = await told(*[refusal(ROWS["llama_cpp_style"])] * 8)
    assert len(seen.asked) + len(seen.compacting) <= then["chat_requests_at_most"]
    assert seen.turn.status == "failed"
    assert "window" in (seen.turn.error or "")
    assert seen.log[0].messages == HISTORY
    assert seen.log[1].messages[0].text == H07["given"]["user_message"]


async def test_h07_another_error_is_not_taken_for_an_overflow(told: Callable[..., Any]) -> None:
    seen: Told = await told(refusal(ROWS["other_400"]))
    assert seen.turn.status == "failed"
    assert (len(seen.asked), len(seen.compacting), seen.turn.compactions) == (1, 0, ())
