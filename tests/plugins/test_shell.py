"""What a command gets, how its end is told, and that nothing of it is left. The processes are real."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bumble_shell import ShellConfig, ShellPlugin
from bumble_shell.environment import scrubbed
from bumble_shell.output import Output
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from bumble_core import ToolCall, ToolError, ToolResult, assistant
from bumble_core.ports import Cautious, Timed, Tool
from tests.pieces import calling, contents, statuses
from tests.plugins.workspaces import TURN, build, outside

PYTHON = sys.executable


def shell(root: Path, **config: Any) -> Tool:
    (made,) = ShellPlugin(ShellConfig(root=root, **config)).bumble_tools()
    return made


async def run(root: Path, command: JsonValue, *, config: dict[str, Any] | None = None, **more: JsonValue) -> ToolResult:
    call = ToolCall(id="c", name="run_command", arguments={"command": command, **more})
    return await shell(root, **config or {}).call(call, TURN)


async def told(root: Path, command: JsonValue, **more: JsonValue) -> str:
    """Return what the model reads, or what a `ToolError` says after `error: `."""
    try:
        return (await run(root, command, **more)).content
    except ToolError as error:
        return f"error: {error}"


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


async def pids(file: Path, count: int) -> list[int]:
    """Wait until that many processes have written their numbers."""
    async with asyncio.timeout(20):
        while not file.exists() or len(file.read_text().split()) < count:
            await asyncio.sleep(0.01)
    return [int(each) for each in file.read_text().split()]


def test_the_tool_asks_first_and_has_time_for_its_longest_command() -> None:
    made = shell(Path(), max_timeout_s=100)
    assert isinstance(made, Cautious)
    assert isinstance(made, Timed)
    assert (made.asks_first, made.timeout_s, made.is_work) == (True, 105, True)


@pytest.mark.parametrize(
    ("command", "content", "status"),
    [
        (["echo", "a  b", "$HOME"], "[exit status 0]\na  b $HOME\n", "ok"),
        ("echo a && echo b >&2", "[exit status 0]\na\nb\n", "ok"),
        ("exit 3", "[exit status 3; no output]", "error"),
        ("true", "[exit status 0; no output]", "ok"),
        ("kill -SEGV $$", "[ended by signal 11 (SIGSEGV); no output]", "error"),
        ("kill -9 $$", "[ended by signal 9 (SIGKILL); no output]", "error"),
        ("cat", "[exit status 0; no output]", "ok"),
        ("read x || echo none; tty", "[exit status 1]\nnone\nnot a tty\n", "error"),
        ("printf 'caf\\351'", "[exit status 0]\ncaf\ufffd", "ok"),
        ("printf '\\000\\001'", "[exit status 0]\nbinary output of 2 bytes, not shown", "ok"),
        ("head -c 5000 /dev/urandom", "[exit status 0]\nbinary output of 5000 bytes, not shown", "ok"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 30 else "",
)
async def test_a_command_tells_how_it_ended_and_what_it_wrote(
    tmp_path: Path, command: JsonValue, content: str, status: str
) -> None:
    result = await run(tmp_path, command)
    assert (result.content, result.status) == (content, status)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "is empty; nothing was run"),
        (" \n", "is empty; nothing was run"),
        ([], "is empty; nothing was run"),
        ([""], "is empty; nothing was run"),
        ("echo \x00", "null character"),
        (["echo", "\x00"], "null character"),
        (["no-such-program", "x"], "'no-such-program' cannot be run: no such program"),
        (["echo hello"], "no such program; a line for the shell is given as text"),
        (["/etc/passwd"], "'/etc/passwd' cannot be run: .*ermission"),
        (["echo", "x" * 300_000], "cannot be run: .*too long"),
        (["echo", "\ud800"], "surrogate"),
        (3, "`command"),
    ],
)
async def test_what_cannot_be_run_is_an_answer(tmp_path: Path, command: JsonValue, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        await run(tmp_path, command)


TREE = {
    "/w/ws/sub/deep/file": "",
    "/w/ws/file": "",
    "/w/ws_secret/file": "",
    "/w/ws/inside": "symlink to sub/deep",
    "/w/ws/out": "symlink to ..",
    "/w/ws/sub/sideways": "symlink to ../../ws_secret",
    "/w/ws/loop": "symlink to loop",
    "/w/ws/absolute": "symlink to /w/ws_secret",
}


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        (".", "ws"),
        ("", "ws"),
        ("sub", "ws/sub"),
        ("sub/..", "ws"),
        ("inside", "ws/sub/deep"),
        ("WS", "ws"),
        ("WS/sub", "ws/sub"),
    ],
)
async def test_a_command_runs_in_a_folder_of_the_workspace(tmp_path: Path, folder: str, place: str) -> None:
    build(tmp_path, TREE)
    folder = folder.replace("WS", str(tmp_path / "ws"))
    assert await told(tmp_path / "ws", "pwd -P", folder=folder) == f"[exit status 0]\n{tmp_path / place}\n"


@pytest.mark.parametrize(
    "folder",
    [
        "..",
        "sub/../..",
        "/",
        "/tmp",
        "out",
        "sub/sideways",
        "absolute",
        "loop",
        "gone",
        "file",
        "W_secret",
        "~",
        "a\0b",
    ],
)
async def test_no_folder_leads_out_of_the_workspace(tmp_path: Path, folder: str) -> None:
    build(tmp_path, TREE)
    before = outside(tmp_path)
    folder = folder.replace("W_", str(tmp_path / "ws_"))
    answer = await told(tmp_path / "ws", "touch here ../there", folder=folder)
    assert answer.startswith("error: folder ")
    assert f"The workspace is `{tmp_path / 'ws'}`; nothing was run" in answer
    assert outside(tmp_path) == before


SECRETS = ["OPENAI_API_KEY", "GH_TOKEN", "MY_SECRET_WORD", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "LC_TOKEN", "KEY"]
HARMLESS = ["PATH", "HOME", "USER", "LANG", "LC_TIME", "TERM", "TZ", "TMPDIR", "CI_JOB", "CI_NAME"]
UNLISTED = ["LD_PRELOAD", "PYTHONPATH", "BASH_ENV", "ENV", "SSH_AUTH_SOCK", "path"]


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*SECRETS, *HARMLESS[1:], *UNLISTED[1:], "CI_TOKEN"]:
        monkeypatch.setenv(name, f"value of {name}")


@pytest.mark.usefixtures("crowded")
async def test_a_command_sees_what_is_listed_and_no_secret(tmp_path: Path) -> None:
    result = await run(tmp_path, ["env"], config={"environment": ["CI_*"]})
    seen = {line.split("=")[0] for line in result.content.splitlines()[1:]}
    assert {name for name in seen if not name.startswith("BUMBLE_COMMAND_")} == set(HARMLESS)


@pytest.mark.usefixtures("crowded")
def test_a_pattern_for_everything_lets_no_secret_through() -> None:
    seen = scrubbed(["*"])
    assert [name for name in (*SECRETS, "CI_TOKEN") if name in seen] == []
    assert "SSH_AUTH_SOCK" in seen


@pytest.mark.parametrize("name", [*SECRETS, "api_key", "Passwords", "X_CREDENTIALS_FILE", "CLIENTSECRET", "NPM_APIKEY"])
def test_a_secret_cannot_be_configured(name: str) -> None:
    with pytest.raises(ValidationError, match=f"`{name}` sounds like a secret"):
        ShellConfig(environment=("CI", name))


@pytest.mark.parametrize("name", ["KEYBOARD", "MONKEY", "TOKENIZERS_PARALLELISM", "COMPASS", "CI_*"])
def test_what_only_looks_like_a_secret_can_be_configured(name: str) -> None:
    assert ShellConfig(environment=(name,)).environment == (name,)


FAMILY = """
import os, signal, sys, time
session, answer, first = sys.argv[1:]
if answer == "ignores": signal.signal(signal.SIGTERM, signal.SIG_IGN)
generation = 1
while generation < 4 and not os.fork():
    generation += 1
    if session == "own": os.setsid()
with open("pids", "a") as file: file.write(f"{os.getpid()} ")
time.sleep(0 if first == "goes" and generation == 1 else 60)
"""
FAMILIES = [("same", "obeys"), ("same", "ignores"), ("own", "obeys"), ("own", "ignores")]


def family(root: Path, session: str, answer: str, first: str = "stays") -> list[str]:
    (root / "family.py").write_text(FAMILY)
    return [PYTHON, "-I", "-S", "family.py", session, answer, first]


@pytest.mark.parametrize(("session", "answer"), FAMILIES)
async def test_a_command_that_takes_too_long_ends_with_all_its_children(
    tmp_path: Path, session: str, answer: str
) -> None:
    begin = time.monotonic()
    result = await run(tmp_path, family(tmp_path, session, answer), timeout_s=1.5)
    assert result.content == "[not done within 1.5 s: ended, with all that it had started; no output]"
    assert result.status == "timeout"
    assert time.monotonic() - begin < (6 if answer == "ignores" else 3.2)
    assert [pid for pid in await pids(tmp_path / "pids", 4) if is_running(pid)] == []


@pytest.mark.parametrize(("session", "answer"), FAMILIES)
async def test_a_cancelled_command_ends_with_all_its_children_at_once(
    tmp_path: Path, session: str, answer: str
) -> None:
    task = asyncio.create_task(run(tmp_path, family(tmp_path, session, answer)))
    running = await pids(tmp_path / "pids", 4)
    begin = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begin < 1
    assert [pid for pid in running if is_running(pid)] == []


@pytest.mark.parametrize(("session", "answer"), FAMILIES)
async def test_children_that_keep_the_output_open_neither_hold_up_nor_outlive_their_command(
    tmp_path: Path, session: str, answer: str
) -> None:
    command = family(tmp_path, session, answer, "goes")
    (tmp_path / "wait.sh").write_text('"$@" & while [ "$(wc -w < pids)" != 4 ]; do sleep 0.02; done; echo done')
    (tmp_path / "pids").touch()
    begin = time.monotonic()
    assert await told(tmp_path, ["sh", "wait.sh", *command]) == "[exit status 0]\ndone\n"
    assert time.monotonic() - begin < 10
    assert [pid for pid in await pids(tmp_path / "pids", 4) if is_running(pid)] == []


ENDINGS = {
    "returns": "",
    "exits": "sys.exit(3)",
    "raises": "raise ValueError",
    "is-interrupted": "os.kill(os.getpid(), signal.SIGINT)",
}


@pytest.mark.parametrize("last", ENDINGS.values(), ids=ENDINGS)
def test_a_command_does_not_outlive_the_interpreter(tmp_path: Path, last: str) -> None:
    code = (
        "import asyncio, os, signal, sys, threading\nfrom pathlib import Path\n"
        "from tests.plugins.test_shell import family, pids, run\n"
        "root = Path(sys.argv[1])\n"
        "command = family(root, 'own', 'ignores')\n"
        "threading.Thread(target=lambda: asyncio.run(run(root, command)), daemon=True).start()\n"
        "asyncio.run(pids(root / 'pids', 4))\n" + last
    )
    subprocess.run([PYTHON, "-c", code, str(tmp_path)], capture_output=True, timeout=60, check=False)
    running = [int(each) for each in (tmp_path / "pids").read_text().split()]
    assert len(running) == 4
    assert [pid for pid in running if is_running(pid)] == []


async def test_a_command_inside_of_a_command_ends_with_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from tests.plugins.test_shell import family, run\n"
        "asyncio.run(run(Path(), family(Path(), 'own', 'ignores')))\n"
    )
    path = ":".join(sys.path)
    config = {"environment": ["PYTHONPATH"]}
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", path)
        task = asyncio.create_task(run(tmp_path, [PYTHON, "-c", code], config=config))
        running = await pids(tmp_path / "pids", 4)
    task.cancel()
    await asyncio.wait([task])
    assert [pid for pid in running if is_running(pid)] == []


async def gap(work: Callable[[], Any]) -> tuple[Any, float]:
    """Do `work` and return with its result the longest time that the event loop did not come round."""
    longest, last, is_over = 0.0, time.monotonic(), False

    async def watch() -> None:
        nonlocal longest, last
        while not is_over:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            longest, last = max(longest, now - last), now

    watching = asyncio.create_task(watch())
    result = await work()
    is_over = True
    await watching
    return result, longest


async def test_a_gigabyte_of_output_is_bounded_in_memory_and_holds_up_nobody(tmp_path: Path) -> None:
    command = "echo first; yes 0123456789012345678901234567890123456789 | head -c 1000000000; echo; echo last"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result, longest = await gap(lambda: run(tmp_path, command))
    assert result.content.startswith("[exit status 0]\nfirst\n0123")
    assert result.content.endswith("\nlast\n")
    assert "[… 999000012 of 1000000012 bytes left out here; they were not kept …]" in result.content
    assert len(result.content) < 1_000_200
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) < 64 * 1024
    assert longest < 0.5


async def test_a_command_that_never_stops_writing_is_stopped(tmp_path: Path) -> None:
    result = await run(tmp_path, ["yes"], timeout_s=0.5, config={"max_output_bytes": 1000})
    assert result.content.startswith("[not done within 0.5 s: ended, with all that it had started]\ny\ny\n")
    assert len(result.content) < 1200


async def test_the_model_cannot_take_more_time_than_is_configured(tmp_path: Path) -> None:
    result = await run(tmp_path, ["sleep", "60"], timeout_s=50, config={"max_timeout_s": 0.2})
    assert "not done within 0.2 s" in result.content


async def test_commands_of_one_step_run_at_once(tmp_path: Path) -> None:
    begin = time.monotonic()
    await asyncio.gather(*(run(tmp_path, ["sleep", "0.5"]) for _ in range(8)))
    assert time.monotonic() - begin < 2


async def test_cancels_at_any_moment_leave_no_process_task_or_open_file(tmp_path: Path) -> None:
    before = len([*Path("/dev/fd").iterdir()])
    for number in range(40):
        task = asyncio.create_task(run(tmp_path, "echo $$ >> pids; sleep 60 & echo $! >> pids; wait"))
        await asyncio.sleep(number * 0.0005)
        task.cancel()
        await asyncio.wait([task])
    assert len(asyncio.all_tasks()) == 1
    assert len([*Path("/dev/fd").iterdir()]) == before
    running = (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []
    assert [pid for pid in running if is_running(int(pid))] == []


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=2, max_value=60))
def test_an_output_keeps_both_ends_whatever_the_pieces(pieces: list[bytes], limit: int) -> None:
    pieces = [
        piece.replace(b"\x00", b".").translate(bytes(46 if b > 126 or b < 32 else b for b in range(256)))
        for piece in pieces
    ]
    whole, half = b"".join(pieces), limit // 2
    output = Output(limit)
    for piece in pieces:
        output.add(piece)
    head, tail = whole[:half].decode(), whole[half:][-half:].decode()
    assert output.total == len(whole)
    assert output.text == whole.decode() if len(whole) <= 2 * half else output.text.startswith(head)
    assert output.text.endswith(tail)


async def test_nobody_to_ask_means_that_no_command_runs(runtime: Any, tmp_path: Path) -> None:
    plugin = ShellPlugin(ShellConfig(root=tmp_path))
    made, _ = runtime(calling("run_command", command="touch made"), assistant("No."), plugins={"shell": plugin})
    async with made:
        turn = await made.answer("make a file")
    assert (statuses(turn.messages), [*tmp_path.glob("made")]) == (["refused"], [])


async def test_an_allowed_command_runs_and_its_output_can_be_read_to_the_end(runtime: Any, tmp_path: Path) -> None:
    made, _ = runtime(
        calling("run_command", command="seq 100000"),
        calling("read_output", start=588_880),
        assistant("Counted."),
        plugins={"shell": ShellPlugin(ShellConfig(root=tmp_path))},
        tools={"allow": ["run_command(seq *)"]},
    )
    async with made:
        first, second = contents((await made.answer("count")).messages)
    assert "read_output(call_id=" in first
    assert second.endswith("99999\n100000\n")


def test_no_variable_of_this_process_is_changed() -> None:
    assert not [name for name in os.environ if name.startswith("BUMBLE_COMMAND_")]
