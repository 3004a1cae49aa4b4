"""The benchmarks run and print every row; what they measure is not tested, for a busy machine would fail it."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.installed import CHECKOUT, Installed

ROWS = (
    "python -c pass",
    "import the base dependencies",
    "import and assemble",
    "bumble --help",
    "bare httpx script",
    "bumble run",
)


@pytest.fixture(scope="module")
def process_cost(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return what the benchmark prints as a table and as JSON, measured at once."""

    def printed(arguments: list[str]) -> str:
        script = str(CHECKOUT / "benchmarks" / "process_cost.py")
        environment = Installed.at(tmp_path_factory.mktemp("machine")).environment
        command = [sys.executable, script, "--quick", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor() as at_once:
        table, found = at_once.map(printed, ([], ["--json"]))
    return table, found


def test_process_cost_prints_every_row_and_aim(process_cost: tuple[str, str]) -> None:
    lines = process_cost[0].splitlines()
    assert [row for row in ROWS if not any(line.startswith(row) for line in lines)] == []
    assert lines[len(ROWS) + 2].split() == ["aim", "measured", "at", "most"]


def test_process_cost_prints_json_with_what_each_row_cost(process_cost: tuple[str, str]) -> None:
    found = json.loads(process_cost[1])
    assert tuple(found["rows"]) == ROWS
    assert all(min(row.values()) > 0 for row in found["rows"].values())


def measured(module: str) -> list[dict[str, float]]:
    """Return the rows that a benchmark prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", "--quick", "--json"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, float]] = json.loads(done.stdout)
    return rows


def test_long_history_counts_what_each_turn_cost_and_its_connections() -> None:
    (row,) = measured("long_history")
    assert min(row[name] for name in ("bare_ms", "later_ms", "first_ms", "ratio")) > 0
    assert (row["messages"], row["connections"]) == (40, 1)


def test_streaming_compares_the_provider_and_a_turn_with_a_bare_loop() -> None:
    rows = measured("streaming")
    assert [row["kind"] for row in rows] == ["bare", "provider", "turn"]
    assert all(row["turn_ms"] > 0 for row in rows)


def test_tools_compares_turns_with_a_bare_loop_and_names_what_is_promised() -> None:
    rows = {str(row["name"]): row for row in measured("tools")}
    promised = [name for name, row in rows.items() if row["at_most"] is not None]
    assert promised[:3] == ["eight tools, async", "eight tools, plain", "loop gap, three tools that sleep"]
    assert [name.split(", ")[1] for name in promised[3:]] == ["async tools / bare", "plain tools / bare"] * 2
    assert [rows[f"4 at once, {kind}, wall"]["value"] > 0 for kind in ("turns", "bare")] == [True, True]


def test_jobs_compares_turns_with_jobs_beside_them_and_without() -> None:
    rows = measured("jobs")
    assert [row["kind"] for row in rows] == ["without jobs", "with jobs"]
    assert rows[1]["runs"] > 0
