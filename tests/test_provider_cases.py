"""Cases H01 to H06 and H08 as whole turns: the shipped providers, a real server on this machine, the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Runtime, Settings, Turn, assemble
from bumble_core.testing import StillClock, StubReply
from bumble_core.testing.bodies import messages_of
from bumble_core.testing.stub_replies import json_reply
from bumble_core.testing.stub_server import StubServer
from bumble_core.testing.threads import serving
from tests.http.streams import case
from tests.pieces import Tools
from tests.shipped import construct_shipped

OK = json_reply({"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}]})


class Notes:
    """The tools of the cases, and which of them were entered."""

    def __init__(self) -> None:
        self.entered: list[tuple[str, dict[str, Any]]] = []

    def read_note(self, path: str) -> str:
        """Read a note."""
        self.entered.append(("read_note", {"path": path}))
        return f"words of {path}"

    def list_notes(self) -> str:
        """List the notes."""
        self.entered.append(("list_notes", {}))
        return "none"

    def write_note(self, path: str, body: str) -> str:
        """Write a note."""
        self.entered.append(("write_note", {"path": path, "body": body}))
        return "written"


class Told:
    """What came of one turn."""

    def __init__(self, turn: Turn, stub: StubServer, notes: Notes) -> None:
        self.turn, self.stub, self.entered = turn, stub, notes.entered

    @property
    def results(self) -> list[Any]:
        return [result for message in self.turn.messages for result in message.tool_results]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Told]:
    """Answer one message with a scripted server behind the provider `openai` or `ollama`."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def answer(*replies: StubReply, provider: str = "openai", said: str = "save both notes", **config: Any) -> Told:
        notes = Notes()
        with serving(replies) as stub, running(tmp_path, stub, notes, provider, **config) as runtime:
            return Told(runtime.answer_sync(said), stub, notes)

    return answer


@contextmanager
def running(home: Path, stub: StubServer, notes: Notes, provider: str, **config: Any) -> Iterator[Runtime]:
    base = f"{stub.url}/v1" if provider == "openai" else stub.url
    section = {provider: {"base_url": base, "retry_jitter": 0, **config}}
    plugins = {
        **construct_shipped("router", "judge", "compactor", "jobs", provider, **section),
        "own": Tools(notes.read_note, notes.list_notes, notes.write_note),
    }
    found = Settings.model_validate(
        {
            "agent": {"models": [f"{provider}:m"]},
            "home": home / "home",
            "gate": {"policy": "off"},
            "cognition": {"model_windows": {f"{provider}:m": 32_768}},  # else a long message has the list asked for
        }
    )
    with assemble(found, plugins=plugins, discovers=False, run_jobs=False, clock=StillClock()) as runtime:
        yield runtime


def streamed(given: dict[str, Any], content_type: str = "text/event-stream") -> StubReply:
    return StubReply(headers={"content-type": content_type}, body=[given["bytes"].encode()])


def streams(name: str) -> dict[str, dict[str, Any]]:
    return {stream["name"]: stream for stream in case(name)["given"]["streams"]}


@pytest.mark.parametrize("name", streams("H01"))
def test_h01_the_person_reads_what_was_streamed(name: str, told: Callable[..., Told]) -> None:
    stream = streams("H01")[name]
    turn = told(streamed(stream)).turn
    assert (turn.text, turn.status) == (stream["expect_text"], "done")


@pytest.mark.parametrize("name", streams("H02"))
def test_h02_a_turn_is_complete_only_when_its_reply_is(name: str, told: Callable[..., Told]) -> None:
    wanted = case("H02")["then"]["per_stream"][name]
    seen = told(streamed(streams("H02")[name]))
    assert (seen.turn.status == "done") is wanted["turn_complete"]
    assert len(seen.stub.requests) == wanted.get("requests", len(seen.stub.requests))
    assert seen.entered == wanted.get("executed", [])
    assert bool(seen.turn.error) is not wanted["turn_complete"]


@pytest.mark.parametrize("name", streams("H03"))
def test_h03_the_calls_that_came_are_run(name: str, told: Callable[..., Told]) -> None:
    events = case("H03")["then"]["per_stream"][name]["events"]
    calls = [event["tool_call"] for event in events if "tool_call" in event]
    seen = told(streamed(streams("H03")[name]), OK)
    assert sorted(seen.entered, key=str) == sorted(((c["name"], c["arguments"]) for c in calls), key=str)
    assert (seen.turn.text, len({result.call_id for result in seen.results})) == ("ok", len(calls))


def ollama(name: str, told: Callable[..., Told], said: str = "read them") -> Told:
    lines = streams("H04")
    done = '{"model":"m","message":{"role":"assistant","content":"ok"},"done":true,"done_reason":"stop"}\n'
    kind = case("H04")["given"]["content_type"]
    return told(streamed(lines[name], kind), streamed({"bytes": done}, kind), provider="ollama", said=said)


def test_h04_calls_run_and_thoughts_are_not_shown(told: Callable[..., Told]) -> None:
    seen = ollama("thinking_then_two_calls_without_ids", told)
    paths = ["b.txt", "ä.txt"]
    assert sorted(arguments["path"] for _, arguments in seen.entered) == paths
    assert seen.turn.text == "ok"
    assert all("Two files" not in text for text in seen.turn.delivered)
    assert [each.json["options"]["num_ctx"] for each in seen.stub.requests] == [32_768, 32_768]


def test_h04_an_error_line_ends_the_turn_as_failed(told: Callable[..., Told]) -> None:
    seen = ollama("error_line_after_text", told)
    assert (seen.turn.status, len(seen.stub.requests)) == ("failed", 1)
    assert "runner has stopped" in (seen.turn.error or "")


def test_h04_a_prompt_read_in_part_is_answered_and_warned_of(
    told: Callable[..., Told], capsys: pytest.CaptureFixture[str]
) -> None:
    words = streams("H04")["short_prompt_count"]["user_message"]
    turn = ollama("short_prompt_count", told, said=words["repeat"] * words["times"]).turn
    everything = "".join(capsys.readouterr())
    assert (turn.text, turn.status) == ("Sure.", "done")
    assert "prompt.truncated" in everything
    assert "2050" in everything


@pytest.mark.parametrize("name", case("H05")["given"]["scripts"])
def test_h05_a_message_cut_by_length_is_no_answer_and_runs_nothing(name: str, told: Callable[..., Told]) -> None:
    script, wanted = case("H05")["given"]["scripts"][name], case("H05")["then"][name]
    seen = told(*(json_reply({"choices": [reply]}) for reply in script))
    assert seen.entered == []
    assert len(seen.stub.requests) <= wanted.get("requests_at_most", wanted.get("requests"))
    assert seen.turn.text == script[-1]["message"]["content"]
    for result, expected in zip(seen.results, wanted.get("tool_results", []), strict=True):
        assert (result.call_id, result.status) == (expected["id"], "refused")
        assert any(word in result.content for word in expected["contains_any"])
    messages_of(seen.stub.requests[-1].json)


@pytest.mark.parametrize("row", case("H06")["given"]["rows"], ids=lambda row: row["name"])
def test_h06_a_busy_server_delays_the_turn_and_does_not_fail_it(row: Any, told: Callable[..., Told]) -> None:
    headers = {} if row["retry_after"] is None else {"retry-after": row["retry_after"]}
    seen = told(json_reply({"error": "busy"}, status=row["status"], headers=headers), OK)
    assert (seen.turn.status, seen.turn.text, len(seen.stub.requests)) == ("done", "ok", 2)


@pytest.mark.parametrize("row", case("H06")["then"]["extra_rows"], ids=lambda row: row["name"])
def test_h06_what_no_retry_mends_fails_at_once(row: Any, told: Callable[..., Told]) -> None:
    refusal = json_reply({"error": "no"}, status=row["status"], headers={"retry-after": row["retry_after"]})
    seen = told(refusal, OK)
    assert (seen.turn.status, len(seen.stub.requests)) == ("failed", 1)
    assert row["name"] != "day_long_wait" or row["retry_after"] in (seen.turn.error or "")


def body_of(row: dict[str, Any]) -> bytes:
    given = row.get("bytes", row.get("body"))
    if isinstance(given, dict):
        given = given.get("prefix", "") + given["repeat"] * given["times"] + given.get("suffix", "")
    return str(given).encode()


@pytest.mark.parametrize("row", case("H08")["given"]["rows"], ids=lambda row: row["name"])
def test_h08_a_bad_body_is_told_in_words_that_a_person_can_read(row: Any, told: Callable[..., Told]) -> None:
    wanted = case("H08")["then"]["per_row"][row["name"]]
    reply = StubReply(status=row["status"], headers={"content-type": row["content_type"]}, body=[body_of(row)])
    seen = told(reply)
    text = "".join((seen.turn.text, seen.turn.error or ""))
    if "events" in wanted:
        assert (seen.turn.status, seen.turn.text) == ("done", wanted["events"][0]["text"])
        return
    assert seen.turn.status == "failed"
    assert len(seen.stub.requests) == wanted.get("requests", len(seen.stub.requests))
    assert wanted["error"].get("message_contains", "") in text
    assert 0 < len(text) <= wanted.get("user_message_max_chars", 400)
    assert "<p>" not in text
