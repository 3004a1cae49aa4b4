"""SmolLM2 as the model of the shipped jobs: whatever it writes, the runs and their records are right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bumble_jobs.declared import LATEST
from bumble_jobs.review_file import read_review
from bumble_local import pull

from bumble_core import Settings, assemble, assistant
from bumble_core.testing import ScriptedProvider
from bumble_core.testing.llama_server import LlamaServer, llama_server
from bumble_core.types.jobs import Cause, RunRecord
from tests.depth import examples
from tests.shipped import construct_shipped

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

JOBS = ("working_memory_consolidation", "verification_review", "semantic_memory_extraction")
ASKED = Cause(trigger="manual", reason="a test")


@pytest.fixture(scope="module")
def server() -> Iterator[LlamaServer]:
    with llama_server(pull("smollm2"), context_tokens=2048) as running:
        yield running


@pytest.mark.parametrize("job", JOBS[: examples(1, len(JOBS))])
async def test_a_run_of_a_small_model_ends_with_a_whole_record_and_files_that_keep_their_shape(
    server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
    script = ScriptedProvider([assistant("The capital of France is Paris.")] * 2)
    plugins = {
        **construct_shipped("openai", "router", "judge", "compactor", "jobs", openai={"base_url": server.base_url})
    }
    built = assemble(
        settings(server, tmp_path), plugins={**plugins, "scripted": script}, discovers=False, run_jobs=False
    )
    async with built as runtime:
        for text in ("I live in Oslo. What is the capital of France?", "Always answer in one sentence, please."):
            await runtime.answer(text)
        record = await runtime.parts.execute(job, ASKED)
        (kept,) = await runtime.ledger.runs(job)
        state = await runtime.ledger.state(job)
        texts = {path: (await runtime.documents.read(path)).text for path in await runtime.documents.list()}
    assert kept == record
    assert_whole(record, server)
    assert state.cursor == (2 if record.outcome == "success" else 0)
    assert_shaped(job, record, texts)


def settings(server: LlamaServer, home: Path) -> Settings:
    agent = {"models": ["scripted:model"], "cognition": {"models": [f"openai:{server.model}"]}}
    return Settings.model_validate({"home": home, "agent": agent, "cognition": {"max_context_tokens": 512}})


def assert_whole(record: RunRecord, server: LlamaServer) -> None:
    """A failure says why, a success says who; an answer takes one call and a repair one more."""
    asked = f"openai:{server.model}"
    assert record.outcome in ("success", "failure")
    assert [str(model) for model in record.models] == [asked]
    assert record.calls in (1, 2)
    assert record.usage.output_tokens > 0
    assert record.finished is not None
    if record.outcome == "success":
        assert (str(record.model), bool(record.summary), record.error) == (asked, True, None)
        assert len(record.attempts) == record.calls - 1
    else:
        assert (record.changes, len(record.attempts)) == ((), 2)
        assert "invalid answer" in (record.error or "")


def assert_shaped(job: str, record: RunRecord, texts: dict[str, Any]) -> None:
    assert set(texts) == {change.path for change in record.changes}
    if LATEST in texts:
        review = read_review(texts[LATEST])
        assert review is not None
        assert review.is_consistent
    for path, text in texts.items():
        assert not [line for line in text.splitlines() if line.startswith("- ") and len(line) > 600], path
