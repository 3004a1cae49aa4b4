"""A key that a stranger's error repeats is in no log, no record and no session."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import structlog
import yaml

from bumble_core import assistant
from bumble_core.types.jobs import JobResult, JobSpec, JobView, TurnsSince, When
from tests.pieces import Tools, calling, filling

Build = Callable[..., Any]
CASES = yaml.safe_load((Path(__file__).parent / "cases" / "cases.yaml").read_text(encoding="utf-8"))["cases"]
CASE = next(case for case in CASES if case["id"] == "H25_secrets_in_logs")
KEY = CASE["given"]["secrets"]["api_key"]
ADDRESS = CASE["given"]["config"]["provider"]["base_url"]


def leaks() -> str:
    """Fail with a key in the text."""
    raise RuntimeError(f"POST {ADDRESS} with {KEY}: refused")


class Leaking:
    spec = JobSpec(id="leaking", summary="Fails", triggers=(When(TurnsSince(1)),))

    async def run(self, view: JobView) -> JobResult:
        raise RuntimeError(f"POST {ADDRESS} with {KEY}: refused")


@pytest.mark.parametrize("secret", CASE["given"]["secrets"].values(), ids=CASE["given"]["secrets"])
async def test_case_h25_no_secret_is_found_after_a_tool_and_a_job_failed(runtime: Build, secret: str) -> None:
    plugins = {"own": Tools(leaks), "job": filling(jobs=[Leaking()])}
    built, _ = runtime(calling("leaks"), assistant("I see."), plugins=plugins, run_jobs=True)
    with structlog.testing.capture_logs() as logs:
        async with built:
            await built.answer("go")
            await built.jobs.settle(5)
            (record,) = await built.ledger.runs("leaking")
    kept = b"".join(path.read_bytes() for path in built.home.rglob("*") if path.is_file())
    forms = {secret, base64.b64encode(secret.encode()).decode(), quote(secret, safe="")}
    assert [form for form in forms if form in repr(logs) or form.encode() in kept] == []
    assert "RuntimeError" in record.error
    assert "127.0.0.1:9" in record.error
