"""Cases H05, H09, H10 and H12, from their data: whole turns, with replies as they come from a server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Turn
from bumble_core.types.messages import ToolResult
from tests.case_script import CaseScript
from tests.http.streams import case
from tests.pieces import Tools

Build = Callable[..., Any]
H05, H09, H10, H12 = (case(name) for name in ("H05", "H09", "H10", "H12"))


class Notes:
    """The tools that the cases name; what really ran is written down."""

    def __init__(self) -> None:
        self.executed: list[list[Any]] = []
        self.cleaned_up = False

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        self.executed.append(["add", {"a": a, "b": b}])
        return a + b

    def list_notes(self) -> list[str]:
        """List the notes."""
        self.executed.append(["list_notes", {}])
        return []

    def read_note(self, path: str) -> str:
        """Read a note."""
        self.executed.append(["read_note", {"path": path}])
        return f"text of {path}"

    def write_note(self, path: str, body: str) -> str:
        """Write a note."""
        self.executed.append(["write_note", {"path": path, "body": body}])
        return "written"

    def boom(self) -> str:
        """Fail."""
        raise ValueError("disk on fire")

    async def hang(self) -> str:
        """Never answer."""
        try:
            await asyncio.Event().wait()
        finally:
            self.cleaned_up = True
        return ""

    async def fine(self) -> str:
        """Answer after a moment."""
        await asyncio.sleep(0.2)
        return "fine"

    @property
    def tools(self) -> Tools:
        offered = (self.add, self.list_notes, self.read_note, self.write_note, self.boom, self.hang, self.fine)
        return Tools(*offered)


async def play(runtime: Build, script: list[Any], **sections: Any) -> tuple[Turn, Notes, CaseScript]:
    model, notes = CaseScript(script), Notes()
    built, _ = runtime(plugins={"scripted": model, "own": notes.tools}, **sections)
    async with built:
        return await built.answer("go"), notes, model


def results(turn: Turn) -> list[ToolResult]:
    return [result for message in turn.messages for result in message.tool_results]


def fits(result: ToolResult, expected: dict[str, Any]) -> bool:
    """Tell whether a result is what a case expects of it."""
    text = result.content
    return (
        result.call_id == expected["id"]
        and (result.status != "ok") is expected.get("is_error", result.status != "ok")
        and text == expected.get("equals", text)
        and all(each in text for each in expected.get("contains", ()))
        and not any(each in text for each in expected.get("not_contains", ()))
        and any(each in text for each in expected.get("contains_any", [""]))
    )


def check(turn: Turn, expected: list[dict[str, Any]]) -> None:
    assert [(r.call_id, r.content) for r, e in zip(results(turn), expected, strict=True) if not fits(r, e)] == []


async def test_h09_only_calls_whose_arguments_fit_are_run(runtime: Build) -> None:
    then = H09["then"]
    turn, notes, model = await play(runtime, H09["given"]["script"])
    check(turn, then["tool_results_in_call_order"])
    assert sorted(map(str, notes.executed)) == sorted(map(str, then["executed"]))
    assert (len(model.requests), turn.status, turn.text) == (then["requests"], "done", "ok")


async def test_h09_a_number_in_quotes_is_refused_by_its_name(runtime: Build) -> None:
    turn, _, _ = await play(runtime, H09["given"]["script"])
    (row,) = [each for each in H09["then"]["tool_results_in_call_order"] if "one_of" in each]
    (result,) = [each for each in results(turn) if each.call_id == row["id"]]
    assert result.status == "refused"
    assert "`a`: expected integer" in result.content


async def test_h10_a_call_that_raises_or_hangs_leaves_the_others_alone(runtime: Build) -> None:
    then, before = H10["then"], len(asyncio.all_tasks())
    timeout_s = H10["given"]["config"]["tool_timeout_s"]
    turn, notes, model = await play(runtime, H10["given"]["script"], tools={"timeout_s": timeout_s})
    assert max(each.elapsed_s for each in results(turn)) < then["wall_s_at_most"]  # they ran at once
    check(turn, then["tool_results_in_call_order"])
    assert notes.cleaned_up is then["cleaned_up"]
    assert len(asyncio.all_tasks()) - before == then["tasks_left"]
    assert (len(model.requests), turn.text) == (then["requests"], "reported")


LEAVING = """
import asyncio, sys
from bumble_core import Settings, assemble
from bumble_core.testing import ScriptedProvider
from tests.pieces import Tools, calling_all, slow
from tests.shipped import construct_shipped

def leaves() -> str:
    raise {kind}

script = ScriptedProvider([calling_all("leaves", "slow")])
plugins = {{**construct_shipped("router", "judge", "compactor"), "s": script, "own": Tools(leaves, slow)}}
settings = Settings.model_validate({{"agent": {{"models": ["scripted:m"]}}, "home": sys.argv[1]}})
runtime = assemble(settings, plugins=plugins, discovers=False, run_jobs=False)
{door}
"""
DOORS = {
    "async": "async def main():\n    async with runtime:\n        await runtime.answer('go')\nasyncio.run(main())",
    "plain": "with runtime:\n    runtime.answer_sync('go')",
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("kind", "status"), [("SystemExit(3)", 3), ("KeyboardInterrupt", -2)], ids=["exit", "ctrl-c"])
def test_h10_a_tool_that_ends_the_program_ends_it(tmp_path: Path, kind: str, status: int, door: str) -> None:
    code = LEAVING.format(kind=kind, door=DOORS[door])
    command = [sys.executable, "-c", code, str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == status, ended.stderr
    assert "never retrieved" not in ended.stderr


SCRIPTS: dict[str, list[Any]] = H12["given"]["scripts"]


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "same_call_for_ever"])
async def test_h12_different_files_are_no_repetition(runtime: Build, name: str) -> None:
    then = H12["then"][name]
    rounds = {"tool_continuation_rounds": H12["given"]["config"]["rounds"]}
    turn, notes, _ = await play(runtime, SCRIPTS[name], cognition=rounds)
    blocked = sum(result.status == "refused" for result in results(turn))
    assert (len(notes.executed), blocked) == (then["executed_count"], then["blocked"])
    assert turn.delivered[-1] == then["visible_last"]


async def test_h12_the_same_call_for_ever_is_refused_and_comes_to_an_end(runtime: Build) -> None:
    then = H12["then"]["same_call_for_ever"]
    rounds = {"tool_continuation_rounds": H12["given"]["config"]["rounds"]}
    turn, notes, model = await play(runtime, SCRIPTS["same_call_for_ever"], cognition=rounds)
    blocked = [result.content for result in results(turn) if result.status == "refused"]
    assert len(notes.executed) <= then["executed_count_at_most"]
    assert len(blocked) >= then["blocked_at_least"]
    assert any(word in blocked[0] for word in then["blocked_result_contains_any"])
    assert len(model.requests) <= then["requests_at_most"]
    assert (turn.status, turn.text != "") == ("capped", then["turn_complete"])


async def test_h05_no_call_of_a_reply_cut_by_its_length_runs(runtime: Build) -> None:
    then = H05["then"]["partial_json"]
    turn, notes, model = await play(runtime, H05["given"]["scripts"]["partial_json"], gate={"policy": "off"})
    check(turn, then["tool_results"])
    assert (notes.executed, list(turn.delivered)) == (then["executed"], then["visible"])
    assert len(model.requests) == then["requests"]


async def test_h05_a_reply_that_is_cut_before_its_first_word_is_asked_for_again(runtime: Build) -> None:
    then = H05["then"]["nothing_at_all"]
    turn, _, model = await play(runtime, H05["given"]["scripts"]["nothing_at_all"])
    assert (turn.status, turn.delivered[-1]) == ("done", then["visible_last"])
    assert len(model.requests) <= then["requests_at_most"]
