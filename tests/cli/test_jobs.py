"""`bumble jobs` and `bumble daemon`, as processes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from bumble_core.types.jobs import RunRecord
from tests.cli.talker import with_owl
from tests.installed import Installed

KEEPER = """
import asyncio
import sys

from bumble_core import hookimpl
from bumble_core.types.jobs import Cron, JobResult, JobSpec, TurnsSince, When, Write


class Diary:
    spec = JobSpec(id="diary", summary="Count turns", triggers=(When(TurnsSince(2)), Cron("0 4 * * *")),
                   outputs=("diary.md",))

    async def run(self, view):
        if any("fail" in turn.messages[0].text for turn in view.turns):
            raise ValueError("a turn that nobody can count")
        if any("hang" in turn.messages[0].text for turn in view.turns):
            print("it hangs", file=sys.stderr, flush=True)
            await asyncio.sleep(60)
        text = view.documents["diary.md"].text + "".join(f"- turn {turn.number}\\n" for turn in view.turns)
        return JobResult(summary=f"counted {len(view.turns)}", read=len(view.turns),
                         writes=(Write(path="diary.md", text=text),))


class KeeperPlugin:
    def __init__(self, config):
        pass

    @hookimpl
    def bumble_jobs(self):
        return [Diary()]
"""


REWRITER = """
from bumble_core import complete, hookimpl, user
from bumble_core.types.inference import Profile, Request
from bumble_core.types.jobs import JobResult, JobSpec, Write


class Rewriter:
    spec = JobSpec(id="rewriter", summary="Have a model write the notes anew", outputs=("notes.md",))

    def __init__(self, inference):
        self.inference = inference

    async def run(self, view):
        said = await complete(self.inference, Request(
            owner=view.run_id, purpose="job", models=view.models, profile=Profile(name="job", max_tokens=99),
            messages=(user("say # Notes\\\\n- tea"),)))
        return JobResult(summary="wrote them anew", writes=(Write(path="notes.md", text=said.message.text),))


class RewriterPlugin:
    def __init__(self, config):
        pass

    @hookimpl
    def bumble_jobs(self, inference):
        return [Rewriter(inference)]
"""


def with_keeper(installed: Installed) -> Installed:
    installed.add("keeper", "1.0", {"bumble_core.plugins": {"keeper": "keeper:KeeperPlugin"}}, keeper=KEEPER)
    return with_owl(installed)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """A machine on which three turns were run, the last of them with `--jobs`."""
    machine = with_keeper(Installed.at(tmp_path_factory.mktemp("machine") / "machine"))
    assert machine.bumble("run", "say one").err == ""
    ended = machine.bumble("run", "say two")
    assert ended.err == "· due in the background: diary; `--jobs`, `bumble chat` and `bumble daemon` run it\n"
    assert machine.bumble("run", "--jobs", "say three").status == 0
    return machine


@pytest.fixture
def machine(worked: Installed, tmp_path: Path) -> Installed:
    return Installed(Path(shutil.copytree(worked.root, tmp_path / "copy")))


def memory(machine: Installed) -> Path:
    (found,) = machine.user.rglob("memory")
    return found


def newest(machine: Installed) -> RunRecord:
    return RunRecord.model_validate(json.loads(machine.bumble("jobs", "runs", "--outcome", "success", "--json").out)[0])


def test_run_leaves_what_is_due_and_runs_it_when_asked(worked: Installed) -> None:
    assert memory(worked).joinpath("diary.md").read_text() == "- turn 1\n- turn 2\n- turn 3\n"


def diary(machine: Installed) -> dict[str, Any]:
    """Return what is told of the job of this test."""
    rows = json.loads(machine.bumble("jobs", "--json").out)
    return next(dict(row) for row in rows if row["job"] == "diary")


def test_jobs_tells_where_each_stands_and_why(machine: Installed) -> None:
    row = diary(machine)
    assert (row["state"], row["last_run"].split()[0]) == ("waiting", "success")
    assert (row["next"] is not None, row["why"]) == (True, "when 2 unread turns; cron 0 4 * * * UTC")
    table = machine.bumble("jobs").out.splitlines()
    assert [line.split()[0] for line in table] == ["JOB", "diary", "memory_flush_owed"]


def test_run_is_recorded_shown_and_undone(machine: Installed) -> None:
    record = newest(machine)
    shown = machine.bumble("jobs", "show", record.id.removeprefix("run_")[:6])
    assert (shown.status, "cause    state: " in shown.out, "changed  diary.md" in shown.out) == (0, True, True)
    undone = machine.bumble("jobs", "undo", record.id)
    assert undone.out == f"Took back what run {record.id} changed: diary.md.\n"
    assert memory(machine).joinpath("diary.md").read_text() == ""
    again = machine.bumble("jobs", "undo", record.id)
    assert (again.status, "was undone already" in again.err) == (1, True)


def test_undo_keeps_what_a_person_wrote_since(machine: Installed) -> None:
    file = memory(machine) / "diary.md"
    file.write_text(file.read_text() + "- mine\n")
    assert machine.bumble("jobs", "undo", newest(machine).id).err == ""
    assert file.read_text() == "- mine\n"


def test_job_is_run_when_asked_due_or_not(machine: Installed) -> None:
    ended = machine.bumble("jobs", "run", "diary", "--json")
    record = RunRecord.model_validate_json(ended.out)
    assert (ended.status, record.outcome, record.cause.trigger) == (0, "success", "manual")
    assert "running diary" in ended.err


def test_run_that_fails_says_why_and_the_status_too(machine: Installed) -> None:
    machine.bumble("run", "say fail")
    ended = machine.bumble("jobs", "run", "diary")
    assert (ended.status, "error    ValueError: a turn that nobody can count" in ended.out) == (1, True)
    row = diary(machine)
    assert (row["state"], row["why"]) == ("failed", "another try after a failure")
    failed = machine.bumble("jobs", "runs", "--outcome", "failure", "--since", "1h").out
    assert "ValueError" in failed
    assert "success" not in failed


def test_run_whose_process_was_killed_is_not_called_running(machine: Installed) -> None:
    machine.bumble("run", "say hang")
    command, pipe = machine.command("jobs", "run", "diary"), subprocess.PIPE
    with subprocess.Popen(command, cwd=machine.work, env=machine.environment, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        assert any(line == "it hangs\n" for line in process.stderr)
        assert diary(machine)["state"] == "running"
        process.kill()
    row = diary(machine)
    assert (row["state"], row["last_run"].split()[0]) == ("waiting", "interrupted")


def test_rewrite_that_drops_most_of_a_file_unsaid_is_refused_and_told_of(machine: Installed) -> None:
    machine.add("rewriter", "1.0", {"bumble_core.plugins": {"rewriter": "rewriter:RewriterPlugin"}}, rewriter=REWRITER)
    notes = memory(machine) / "notes.md"
    notes.write_text(before := "# Notes\n- tea\n" + "".join(f"- thing {number}\n" for number in range(20)))
    assert machine.bumble("jobs", "run", "rewriter").status == 1
    assert notes.read_text() == before
    (run,) = json.loads(machine.bumble("jobs", "runs", "--outcome", "failure", "--json").out)
    shown = machine.bumble("jobs", "show", run["id"]).out
    told = "ContractError: job `rewriter` would leave out 91% of `notes.md` without saying what it removed"
    assert f"  outcome  failure\n  error    {told}\n" in shown
    assert "  calls    1\n" in shown


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("jobs", "run", "dairy"), 1, "no job `dairy`; did you mean `diary`?"),
        (("jobs", "show", "nope"), 1, "no run `nope`; `bumble jobs runs` lists them"),
        (("jobs", "runs", "--since", "yore"), 2, "'yore' is no date, time or span"),
        (("jobs", "simulate", "--from", "+2d", "--to", "+1d"), 2, "--to comes after --from"),
    ],
    ids=["job", "run", "since", "from"],
)
def test_mistake_is_said_with_what_to_do(
    machine: Installed, arguments: tuple[str, ...], status: int, text: str
) -> None:
    ended = machine.bumble(*arguments)
    assert (ended.status, text in ended.err) == (status, True)


def test_simulation_tells_what_would_run_and_why(machine: Installed) -> None:
    given = ("jobs", "simulate", "--from", "2026-05-04T00:00+00:00", "--to", "2026-05-05T00:00+00:00", "--json")
    runs = json.loads(machine.bumble(*given, "--turns", "5", TZ="UTC").out)
    assert [run["trigger"] for run in runs] == ["schedule", "state", "state"]
    assert runs[0]["at"] == "2026-05-04T04:00:00+00:00"
    assert runs[1]["why"] == "2 turns unread, threshold 2"


def test_simulation_takes_the_turns_of_a_session(machine: Installed) -> None:
    sessions = json.loads(machine.bumble("sessions", "list", "--json").out)
    given = ("jobs", "simulate", "--from", "2026-05-04T08:00+00:00", "--to", "2026-05-04T20:00+00:00")
    assert machine.bumble(*given, "--history", sessions[0]["id"]).out == "No job would run.\n"


@pytest.fixture
def daemon(machine: Installed) -> Iterator[subprocess.Popen[str]]:
    command, pipe = machine.command("daemon"), subprocess.PIPE
    environment = {**machine.environment, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=machine.work, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    ) as process:
        yield process
        process.kill()


def test_daemon_says_what_it_does_and_stops_when_told(machine: Installed, daemon: subprocess.Popen[str]) -> None:
    assert daemon.stdout is not None
    assert daemon.stdout.readline().startswith("watching 2 jobs in ")
    assert "when 2 unread turns" in daemon.stdout.readline() + daemon.stdout.readline()
    daemon.send_signal(signal.SIGTERM)
    out, err = daemon.communicate(timeout=20)
    assert (daemon.returncode, out, err) == (0, "stopping\nstopped\n", "")


def test_watch_prints_runs_of_other_processes(machine: Installed) -> None:
    pipe = subprocess.PIPE
    environment = {**machine.environment, "PYTHONUNBUFFERED": "1"}
    command = machine.command("jobs", "watch")
    with subprocess.Popen(command, cwd=machine.work, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert process.stderr.readline().startswith("· watching ")
        machine.bumble("jobs", "run", "diary")
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert "diary  manual  success" in line


def test_daemon_runs_what_was_left_due_and_what_other_processes_make_due(machine: Installed) -> None:
    command, pipe = machine.command("daemon"), subprocess.PIPE
    environment = {**machine.environment, "PYTHONUNBUFFERED": "1"}
    machine.bumble("run", "say four")
    machine.bumble("run", "say five")
    with subprocess.Popen(command, cwd=machine.work, env=environment, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        until_it_ends("diary success: counted 2\n", process.stdout)
        machine.bumble("run", "say six")
        machine.bumble("run", "say seven")
        until_it_ends("diary success: counted 2\n", process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert memory(machine).joinpath("diary.md").read_text().endswith("- turn 6\n- turn 7\n")


def until_it_ends(line: str, lines: IO[str]) -> None:
    """Read up to the line in question; where the program ends before, that is an error."""
    assert line in lines
