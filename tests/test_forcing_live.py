"""SmolLM2 through llama.cpp ignores tools and keeps to schemas: forced turns of a real model."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from bumble_local import pull
from typing_extensions import override

from bumble_core import Settings, assemble, hookimpl, tool
from bumble_core.builtin.system import SystemClock
from bumble_core.ports import Judge, Tool
from bumble_core.testing.llama_server import LlamaServer, llama_server
from bumble_core.types.messages import ToolResult
from bumble_core.types.turn import TurnContext, Verdict
from tests.shipped import construct_shipped

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class TwoTools:
    """`write_file` and `end_turn`, and nothing else; the turn is done when a file is there."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}
        self.tools: list[Tool] = [tool(self.write_file), tool(self.end_turn, is_work=False)]

    def write_file(self, path: str, content: str) -> ToolResult:
        """Write a file."""
        self.written[path] = content
        return ToolResult(call_id="", name="write_file", content="written", ends_turn=True)

    def end_turn(self, reason: str = "") -> ToolResult:
        """End the turn when the file is written."""
        return ToolResult(call_id="", name="end_turn", content=reason, ends_turn=True)

    async def judge(self, turn: TurnContext) -> Verdict:
        nudge = "" if self.written else "Write the file."
        return Verdict(done=bool(self.written), decided_by="file", reason="the file is what was asked", nudge=nudge)

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        return self.tools

    @hookimpl
    def bumble_judge(self) -> Judge:
        return self


class Noon(SystemClock):
    """Always tells the same time, so that the model is always asked the same."""

    @override
    def now(self) -> datetime:
        return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Iterator[LlamaServer]:
    with llama_server(pull("smollm2")) as running:
        yield running


async def test_a_turn_that_must_write_a_file_completes_at_the_schema_level(
    server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", server.api_key)
    offered = TwoTools()
    shipped = construct_shipped("openai", "router", "compactor", openai={"base_url": server.base_url})
    plugins = {**shipped, "two": offered}
    async with assemble(settings(server, tmp_path), plugins=plugins, discovers=False, clock=Noon()) as runtime:
        turn = await runtime.answer("Write the word hello into the file hello.txt.")
    calls = [call for message in turn.messages for call in message.tool_calls]
    assert turn.status == "done"
    assert "write_file" in {call.name for call in calls}
    assert offered.written
    assert_fitting(calls, offered)
    assert '"level": "schema"' in (tmp_path / "endpoints.json").read_text()


def settings(server: LlamaServer, home: Path) -> Settings:
    cognition = {"tool_choice": "required", "temperature": 0, "tool_continuation_rounds": 0}
    cognition |= {"reflex_max_tokens": 256, "deliberate_max_tokens": 256}  # it does not stop by itself
    agent = {"models": [f"openai:{server.model}"]}
    return Settings.model_validate({"home": home, "agent": agent, "cognition": cognition})


def assert_fitting(calls: list[Any], offered: TwoTools) -> None:
    schemas = {each.spec.name: each.spec.parameters for each in offered.tools}
    for call in calls:
        assert call.problem or jsonschema_rs.validator_for(dict(schemas[call.name])).is_valid(call.arguments)
