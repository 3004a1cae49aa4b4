"""What a write leaves behind: its difference for reviews, and nothing of itself where it was killed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bumble_files.differences import difference
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from bumble_core import ToolCall, ToolResult, assistant
from tests.depth import examples
from tests.pieces import Tools, calling
from tests.plugins.workspaces import TURN, call, tools

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n", "é\n", "a\r\n", "\u2028\n"]), max_size=30)
TEXTS = st.tuples(LINES, st.sampled_from(["", "a", "b"])).map(lambda pair: "".join((*pair[0], pair[1])))


def applied(before: str, diff: str) -> str:
    """Apply a unified diff, and hold it to what it says of the text that was there."""
    old = before.split("\n")
    old = [f"{line}\n" for line in old[:-1]] + old[-1:] * bool(old[-1])
    made: list[str] = []
    taken, kind = 0, ""
    for line in [f"{line}\n" for line in diff.split("\n")[2:-1]]:
        if hunk := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            start = int(hunk[1]) - (hunk[2] != "0")
            made += old[taken:start]
            taken = start
        elif line.startswith("\\"):
            if kind in " +":
                made[-1] = made[-1].removesuffix("\n")
        else:
            kind, text = line[0], line[1:]
            if kind in " -":
                assert old[taken].removesuffix("\n") == text.removesuffix("\n")
                taken += 1
            made += [text] if kind in " +" else []
    return "".join((*made, *old[taken:]))


@settings(max_examples=examples(300, 5000))
@given(before=TEXTS, after=TEXTS, common=st.integers(0, 5))
def test_a_difference_leads_from_the_one_text_to_the_other(before: str, after: str, common: int) -> None:
    before, after = "same\n" * common + before, "same\n" * common + after
    assert applied(before, difference("file", before, after)) == after


def test_a_difference_of_many_lines_leads_there_too() -> None:
    numbers = [f"{number}\n" for number in range(1000)]
    before, after = (
        "".join(numbers),
        "".join([*numbers[:10], *(f"-{line}" for line in numbers[10:900]), *numbers[900:]]),
    )
    diff = difference("file", before, after)
    assert "\n@@ -8,896 +8,896 @@\n" in diff
    assert applied(before, diff) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x\n" * 5_000_000, "y\n" * 5_000_000),
        ("x\n" * 500, "x\ny\n" * 250),
        ("x\ny\n" * 250, "y\nx\n" * 249),
        ("x" * 10_000_000, "y" * 10_000_000),
        ("".join(f"{n}\n" for n in range(300_000)), "".join(f"{n}\n" for n in range(1, 300_001))),
    ],
    ids=["all-lines", "alike", "shifted", "one-line", "first-and-last"],
)
def test_a_difference_takes_bounded_time_and_room(before: str, after: str) -> None:
    begin = time.monotonic()
    diff = difference("file", before, after)
    assert time.monotonic() - begin < 5
    assert 0 < len(diff) < 50_200


async def wrote(root: Path, name: str, **given: JsonValue) -> ToolResult:
    return await tools(root, 10_485_760, 16_000)[name].call(ToolCall(id="c", name=name, arguments=given), TURN)


WRITES: list[tuple[str, bytes | None, str, dict[str, JsonValue], str]] = [
    ("new", None, "write_file", {"text": "a\nb\n"}, "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"),
    ("replaced", b"a\nb\n", "write_file", {"text": "a\nc\n"}, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
    ("emptied", b"a\n", "write_file", {"text": ""}, "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n"),
    ("same", b"a\n", "write_file", {"text": "a\n"}, ""),
    (
        "appended",
        b"a\r\n",
        "write_file",
        {"text": "b\n", "append": True},
        "--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n",
    ),
    (
        "edited",
        b"a\nb",
        "edit_file",
        {"old": "b", "new": "c"},
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
    ),
    ("binary", b"\x00", "write_file", {"text": "a"}, "f: 1 bytes, binary or too many to compare, were replaced\n"),
    (
        "latin1",
        b"caf\xe9\n1\n",
        "edit_file",
        {"old": "1", "new": "2"},
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n caf\ufffd\n-1\n+2\n",
    ),
]


@pytest.mark.parametrize(
    ("before", "name", "given", "diff"), [row[1:] for row in WRITES], ids=[row[0] for row in WRITES]
)
async def test_a_write_carries_its_difference(
    tmp_path: Path, before: bytes | None, name: str, given: dict[str, JsonValue], diff: str
) -> None:
    if before is not None:
        (tmp_path / "f").write_bytes(before)
    assert (await wrote(tmp_path, name, path="f", **given)).diff == diff


async def test_a_difference_cannot_be_given_other_headers_by_a_name(tmp_path: Path) -> None:
    diff = (await wrote(tmp_path, "write_file", path="a\n+++ b/x", text="t\n")).diff
    assert diff.split("\n")[1] == "+++ b/a\\n+++ b/x"


async def test_the_difference_is_kept_in_the_log(runtime: Any, tmp_path: Path) -> None:
    files = Tools(tools(tmp_path, 1000, 1000)["write_file"])
    made, _ = runtime(calling("write_file", path="f", text="t\n"), assistant("Done."), plugins={"f": files})
    async with made:
        await made.answer("write", session="s")
        (turn,) = await made.sessions.turns(session_id="s")
    assert "+t\n" in next(result.diff for message in turn.messages for result in message.tool_results)


WRITER = """
import os, sys, time
from pathlib import Path
from bumble_files.tools import FileTools
from bumble_files.workspace import Workspace

def write(handle, data):
    if os.fstat(handle).st_size < 3:
        return os.write(handle, data[:3])
    print("half", flush=True)
    time.sleep(60)

FileTools(Workspace(Path(sys.argv[1])), limit=1000, room=1000, write=write).write_file("file", "replaced")
"""


@contextmanager
def halfway(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Have another process write `root/file`, and be halfway through."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        try:
            yield writer
        finally:
            writer.kill()


def temporary(root: Path) -> list[Path]:
    return [*root.glob(".bumble-*.tmp")]


async def test_a_killed_write_leaves_a_file_that_the_next_write_sweeps(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    with halfway(tmp_path) as writer:
        writer.kill()
    (left,) = temporary(tmp_path)
    assert ((tmp_path / "file").read_text(), left.read_text()) == ("precious", "rep")
    await call(tmp_path, "write_file", path="other", text="x")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "other"]
    assert (tmp_path / "file").read_text() == "precious"


async def test_what_somebody_is_writing_is_not_swept(tmp_path: Path) -> None:
    with halfway(tmp_path):
        await call(tmp_path, "write_file", path="other", text="x")
        assert len(temporary(tmp_path)) == 1


async def test_only_regular_files_of_the_right_name_are_swept(tmp_path: Path) -> None:
    (tmp_path / ".bumble-folder.tmp").mkdir()
    (tmp_path / ".bumble-link.tmp").symlink_to("kept")
    os.mkfifo(tmp_path / ".bumble-pipe.tmp")
    for name in ("kept", ".bumble-x", "bumble-x.tmp", ".bumble-1.tmp"):
        (tmp_path / name).touch()
    before = {each.name for each in tmp_path.iterdir()}
    await call(tmp_path, "write_file", path="kept", text="x")
    assert {each.name for each in tmp_path.iterdir()} == before - {".bumble-1.tmp"}
