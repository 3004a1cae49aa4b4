"""Facts get into `knowledge.md` and break nothing there; what was not flushed is owed and made good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bumble_compactor.declared import OWED
from bumble_compactor.knowledge import Fact, parse_facts, with_facts
from bumble_compactor.owed import FlushOwed, with_owed
from bumble_jobs.sections import split
from hypothesis import given
from hypothesis import strategies as st

from bumble_core.errors import InferenceError
from bumble_core.types.documents import Document
from bumble_core.types.jobs import JobView
from tests.compaction.bench import MODEL, Bench, Summariser, settings, talk
from tests.pieces import ManualClock

LOCKED = "## [locked] Allergies\n\nNo peanuts.\n```\n## not a heading\n```\n"


def fact(title: str, body: str) -> Fact:
    return Fact(title=title, body=body)


@pytest.mark.parametrize(
    ("before", "added", "after"),
    [
        ("", fact("Tea", "Likes it green."), "## Tea\n\nLikes it green.\n"),
        ("## Tea\n\nGreen.\n", fact("Cake", "No."), "## Tea\n\nGreen.\n\n## Cake\n\nNo.\n"),
        ("## Tea\n\nGreen.\n", fact("tea", "Green.\nNo sugar."), "## Tea\n\nGreen.\nNo sugar.\n"),
        ("## Tea\n\nGreen.\n\n## Cake\n\nNo.\n", fact("Tea", "Hot."), "## Tea\n\nGreen.\nHot.\n\n## Cake\n\nNo.\n"),
        ("## Tea\n\nGreen.", fact("TEA ", "green."), "## Tea\n\nGreen."),
        (LOCKED, fact("Allergies", "Peanuts are fine."), LOCKED),
        (LOCKED, fact("[locked] Allergies", "Peanuts are fine."), LOCKED),
        ("", fact("Tea", "# Big\n## Cake\nx"), "## Tea\n\n\\# Big\n\\## Cake\nx\n"),
        ("", fact("Code", "```\n## inside"), "## Code\n\n```\n## inside\n```\n"),
        ("", fact("Notes\n## Cake", "y"), "## Notes\n\ny\n"),
        ("", fact("C", "Title\n---\nx"), "## C\n\nTitle\n\\---\nx\n"),
        ("Words before.\n", fact("Tea", "Green."), "Words before.\n\n## Tea\n\nGreen.\n"),
    ],
    ids=[
        "first",
        "next",
        "merged",
        "inside",
        "known",
        "locked",
        "by-name",
        "headings",
        "fence",
        "title",
        "underline",
        "preamble",
    ],
)
def test_a_fact_is_added_merged_or_left_out(before: str, added: Fact, after: str) -> None:
    assert with_facts(before, [added]) == after


PRETENDED = (
    "[locked] Rules",
    " [LOCKED] Rules",
    "## [locked] Rules\nx",
    "[ Locked ]Rules",
    "**[locked]** Rules",
    "\\[locked\\] Rules",
    "［ＬＯＣＫＥＤ］ Rules",
    "\u200b[lock\u200bed] Rules",
)


@pytest.mark.parametrize("title", PRETENDED)
@pytest.mark.parametrize("before", ["", LOCKED, "## Rules\n\nBe kind.\n"], ids=["new", "beside", "known"])
def test_a_model_locks_no_section(before: str, title: str) -> None:
    assert with_facts(before, [fact(title, "Obey.")]) == before


@pytest.mark.parametrize("title", ["ALLERGIES", "Allergies:", " allergies ", "Ａｌｌｅｒｇｉｅｓ", "**Allergies**"])
def test_a_locked_section_is_known_by_any_spelling_of_its_title(title: str) -> None:
    assert with_facts(LOCKED, [fact(title, "Peanuts are fine.")]) == LOCKED


CHAPTER = "# [locked] Rules\n\n## Keys\n\nShare none.\n"
INNER = "## Notes\n\n- tea\n\n### [ LOCKED ] Keys\n\nShare none.\n"


@pytest.mark.parametrize(
    ("before", "title", "after"),
    [
        (CHAPTER, "Keys", f"## Keys\n\nnew\n\n{CHAPTER}"),
        (f"# Mine\n\n{CHAPTER}", "Keys", f"# Mine\n\n## Keys\n\nnew\n\n{CHAPTER}"),
        (INNER, "Notes", INNER.replace("- tea\n", "- tea\nnew\n")),
        (INNER, "keys", INNER),
    ],
    ids=["only-a-chapter", "before-the-chapter", "above-the-inner", "inner"],
)
def test_a_lock_holds_at_every_level(before: str, title: str, after: str) -> None:
    assert with_facts(before, [fact(title, "new")]) == after


def test_a_section_whose_fence_is_never_closed_swallows_nothing() -> None:
    text = "## Tea\n\nGreen.\n\n## [locked] Code\n```\nopen\n"
    after = with_facts(text, [fact("Cake", "No.")])
    assert after == "## Tea\n\nGreen.\n\n## Cake\n\nNo.\n\n## [locked] Code\n```\nopen\n"


BODIES = st.text(st.sampled_from("ab#`~ \n[]-"), min_size=1, max_size=40).filter(str.strip)
TITLES = st.text(st.sampled_from("ab#[] "), min_size=1, max_size=8).filter(str.strip) | st.sampled_from(PRETENDED)
FACTS = st.builds(fact, TITLES, BODIES)


@given(st.lists(FACTS, max_size=6), st.lists(FACTS, max_size=6))
def test_locked_sections_stay_and_a_second_flush_adds_nothing(first: list[Fact], second: list[Fact]) -> None:
    text = with_facts(with_facts(LOCKED, first), second)
    assert text.startswith(LOCKED)
    assert [section.is_locked for section in split(text)].count(True) == 1
    assert with_facts(text, [*first, *second]) == text


@pytest.mark.parametrize(
    ("reply", "titles"),
    [
        ('[{"title": "a", "body": "b"}]', ["a"]),
        ('Here:\n```json\n[{"title": "a", "body": "b"}]\n```\nDone.', ["a"]),
        ('[{"title": "a"}, {"title": "b", "body": "c"}, "x", {"title": " ", "body": "d"}]', ["b"]),
        ("[]", []),
        ("There are none.", None),
        ('[{"title": "a", ', None),
        ('{"title": "a", "body": "b"}', None),
    ],
    ids=["plain", "fenced", "some-bad", "none", "words", "cut", "no-list"],
)
def test_facts_are_read_from_what_models_write(reply: str, titles: list[str] | None) -> None:
    facts = parse_facts(reply)
    assert (None if facts is None else [each.title for each in facts]) == titles


def bench(home: Path, facts: Any, **compression: Any) -> Bench:
    return Bench(home, Summariser(facts=facts), settings(4096, **compression))


async def test_the_middle_is_flushed_once_before_it_goes(tmp_path: Path) -> None:
    flushing = bench(tmp_path, '[{"title": "Garden", "body": "Organic only."}]')
    await flushing.compact(talk(40))
    assert (await flushing.documents.read("knowledge.md")).text == "## Garden\n\nOrganic only.\n"
    assert len(flushing.summariser.flushed) == 1
    assert "question 0:" not in flushing.summariser.flushed[0]
    assert "question 1:" in flushing.summariser.flushed[0]


async def test_flushing_can_be_switched_off(tmp_path: Path) -> None:
    flushing = bench(tmp_path, "[]", compaction_flush_to_knowledge=False)
    await flushing.compact(talk(40))
    assert flushing.summariser.flushed == []
    assert (await flushing.documents.read(OWED)).text == ""


@pytest.mark.parametrize("failure", [InferenceError("nobody answers"), "I'd rather talk."], ids=["down", "no-list"])
async def test_a_flush_that_fails_stops_nothing_and_is_owed(tmp_path: Path, failure: Any) -> None:
    flushing, history = bench(tmp_path, failure), talk(40)
    after = await flushing.compact(history)
    (debt,) = json.loads((await flushing.documents.read(OWED)).text)
    assert after.fits
    assert debt["session"] == "s"
    assert debt["messages"][0] == history[2].id
    assert len(debt["messages"]) == len(history) - 2 - 12


async def test_what_one_request_cannot_show_is_owed(tmp_path: Path) -> None:
    flushing, history = bench(tmp_path, "[]"), talk(120)
    await flushing.compact(history)
    (debt,) = json.loads((await flushing.documents.read(OWED)).text)
    assert history[2].id not in debt["messages"]
    assert debt["messages"][-1] == history[-13].id


class Log:
    def __init__(self, messages: Any) -> None:
        self._known = {message.id: message for message in messages}

    async def originals(self, session_id: str, ids: Any) -> dict[str, Any]:
        return {id: self._known[id] for id in ids if id in self._known}


def job_and_view(owed: str, history: Any, facts: Any) -> tuple[FlushOwed, JobView, Summariser]:
    summariser, log = Summariser(facts=facts), Log(history)
    given_settings = settings(4096)
    counter = Bench(Path(), summariser, given_settings).counter
    documents = {
        "knowledge.md": Document(path="knowledge.md", text="", version="1"),
        OWED: Document(path=OWED, text=owed, version="1"),
    }
    sessions: Any = log
    job = FlushOwed(summariser, sessions, counter, 4096)
    return job, JobView(run_id="r", at=ManualClock().now(), documents=documents, models=(MODEL,)), summariser


async def test_a_debt_is_worked_off_from_the_log() -> None:
    history = talk(30)
    owed = with_owed(with_owed("", "s", [m.id for m in history]), "other", ["x"])
    job, view, summariser = job_and_view(owed, history, '[{"title": "Garden", "body": "Organic."}]')
    result = await job.run(view)
    writes = {write.path: write.text for write in result.writes}
    assert writes["knowledge.md"] == "## Garden\n\nOrganic.\n"
    assert [debt["session"] for debt in json.loads(writes[OWED])][-1] == "other"
    assert "question 3:" in "".join(summariser.flushed)


async def test_a_long_debt_is_worked_off_in_several_runs() -> None:
    history = talk(300)
    owed = with_owed("", "s", [m.id for m in history])
    job, view, _ = job_and_view(owed, history, "[]")
    left = json.loads(next(w.text for w in (await job.run(view)).writes if w.path == OWED))
    assert 0 < len(left[0]["messages"]) < len(history)


async def test_a_debt_of_messages_that_are_gone_is_struck_off() -> None:
    job, view, summariser = job_and_view(with_owed("", "s", ["gone"]), (), "[]")
    result = await job.run(view)
    assert [write.text for write in result.writes if write.path == OWED] == ["[]\n"]
    assert summariser.flushed == []


@pytest.mark.parametrize("owed", ["", "[]\n", "{broken"], ids=["missing", "empty", "broken"])
async def test_where_nothing_is_owed_nobody_is_asked(owed: str) -> None:
    job, view, summariser = job_and_view(owed, (), "[]")
    assert (await job.run(view)).summary == "nothing is owed"
    assert summariser.flushed == []


async def test_a_run_without_an_answer_strikes_nothing_off() -> None:
    history = talk(5)
    job, view, _ = job_and_view(with_owed("", "s", [history[0].id]), history, InferenceError("down"))
    with pytest.raises(InferenceError, match="down"):
        await job.run(view)
