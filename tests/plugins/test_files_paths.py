"""No path leads out of the workspace."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bumble_files.tools import FileTools
from bumble_files.workspace import FILE, FOLDER, Workspace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from bumble_core import ToolError
from tests.depth import examples
from tests.plugins.workspaces import ask, build, call, case, outside

CASE = case("H20_path_escape")
TREE: dict[str, str] = CASE["given"]["tree"] | {
    "/w/ws/abs_link": "symlink to /w/ws/ok.txt",
    "/w/ws/abs_prefix": "symlink to /w/ws_secret/key.txt",
    "/w/ws/round_trip": "symlink to ../ws/ok.txt",
    "/w/ws/a": "symlink to b",
    "/w/ws/b": "symlink to a",
    "/w/ws/chain1": "symlink to chain2",
    "/w/ws/chain2": "symlink to ../out.txt",
    "/w/ws/etc": "symlink to /etc",
    "/w/ws/sub/here": "symlink to .",
    "/w/ws/sub/root": "symlink to ..",
    "/w/ws/sub/over": "symlink to ../..",
    "/w/ws/dangling_in": "symlink to sub/made.txt",
    "/w/ws/dir_pipe/pipe": "FIFO with no writer",
}
MORE_REFUSED = [
    ["read", "../ws_secret/key.txt"],
    ["read", "../ws/ok.txt"],
    ["read", "..//out.txt"],
    ["read", "./../out.txt"],
    ["read", "sub/./../../out.txt"],
    ["read", "/w/ws/../out.txt"],
    ["read", "/w/../w/out.txt"],
    ["read", "/etc/hostname"],
    ["read", "/proc/self/environ"],
    ["read", "abs_prefix"],
    ["read", "round_trip"],
    ["read", "a"],
    ["read", "chain1"],
    ["read", "etc/hostname"],
    ["read", "sub/over/out.txt"],
    ["read", "sub/root/../out.txt"],
    ["read", "sub/here/../../out.txt"],
    ["read", "sub/up/../out.txt"],
    ["read", "ok.txt/"],
    ["read", "ok.txt/."],
    ["write", "new/."],
    ["read", "ok.txt/../ok.txt"],
    ["read", "missing/../ok.txt"],
    ["read", ""],
    ["read", "ok.txt\n"],
    ["read", "x" * 300],
    ["read", "x/" * 3000],
    ["read", "sub/" + "here/" * 50 + "deep.txt"],
    ["read", "~"],
    ["read", "dir_pipe/pipe"],
    ["write", "/w/new.txt"],
    ["write", "/w/ws_new/new.txt"],
    ["write", "/w/ws_secret/key.txt"],
    ["write", "sub/up/new.txt"],
    ["write", "sub/over/new.txt"],
    ["write", "new/../../new.txt"],
    ["write", "newdir/"],
    ["write", "pipe"],
    ["write", "sock"],
    ["write", "zero"],
    ["write", "loop"],
    ["write", "."],
    ["write", "~/x"],
    ["edit", "link_file"],
    ["edit", "../out.txt"],
    ["edit", "pipe"],
    ["list", "/"],
    ["list", "/w"],
    ["list", "sub/up"],
    ["list", "etc"],
    ["glob", "~/*"],
    ["glob", "**/../*"],
    ["search", "link_dir"],
    ["search", "sub/up"],
    ["search", "/w"],
    ["search", "zero"],
]
REFUSED: list[list[str]] = CASE["given"]["refused"] + MORE_REFUSED
CALLS: dict[str, tuple[str, str, dict[str, JsonValue]]] = {
    "read": ("read_file", "path", {}),
    "write": ("write_file", "path", {"text": "made"}),
    "edit": ("edit_file", "path", {"old": "SECRET", "new": "made"}),
    "list": ("list_directory", "path", {}),
    "glob": ("search_files", "glob", {}),
    "search": ("search_files", "path", {"pattern": "SECRET"}),
}


@pytest.fixture
def base() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="w") as folder:  # short: the path of a socket may have 104 bytes
        made = Path(folder).resolve()
        build(made, TREE)
        yield made


def everything(base: Path) -> tuple[dict[str, str], list[Path]]:
    return outside(base), sorted((base / "ws").rglob("*"))


async def do(base: Path, verb: str, path: str) -> str:
    name, key, rest = CALLS[verb]
    shifted = str(base) + path.removeprefix("/w") if path == "/w" or path.startswith("/w/") else path
    return await ask(base / "ws", name, {key: shifted, **rest})


@pytest.mark.parametrize(("verb", "path"), REFUSED, ids=[f"{verb} {path[:30]!r}" for verb, path in REFUSED])
async def test_a_path_that_leaves_or_names_no_file_is_refused(base: Path, verb: str, path: str) -> None:
    before, begin = everything(base), time.monotonic()
    content = await do(base, verb, path)
    assert time.monotonic() - begin < 1
    assert content.startswith("error: ")
    assert str(base / "ws") in content
    assert "SECRET" not in content
    assert everything(base) == before


ALLOWED = [
    *CASE["given"]["allowed"],
    ["read", "abs_link", "inside"],
    ["read", "sub/root/ok.txt", "inside"],
    ["read", "sub/here/here/deep.txt", "deep"],
    ["write", "dangling_in", "made"],
    ["write", "good_link", "made"],
    ["write", "deep/er/new.txt", "made"],
    ["write", "...", "made"],
    ["write", "-rf", "made"],
]


@pytest.mark.parametrize(("verb", "path", "content"), ALLOWED, ids=[f"{row[0]} {row[1]!r}" for row in ALLOWED])
async def test_a_path_inside_the_workspace_works(base: Path, verb: str, path: str, content: str) -> None:
    answer = await do(base, verb, path)
    if verb == "read":
        assert content in answer
    else:
        assert (base / "ws" / path).read_text("utf-8") == content


async def test_a_write_through_a_link_keeps_the_link(base: Path) -> None:
    await do(base, "write", "good_link")
    assert (base / "ws/good_link").is_symlink()
    assert (base / "ws/sub/deep.txt").read_text("utf-8") == "made"


async def test_a_workspace_reached_through_a_link_takes_both_absolute_paths(base: Path) -> None:
    (base / "alias").symlink_to(base / "ws")
    assert "inside" in await call(base / "alias", "read_file", path=str(base / "alias/ok.txt"))
    assert "inside" in await call(base / "alias", "read_file", path=str(base / "ws/ok.txt"))


async def test_a_missing_workspace_is_said(tmp_path: Path) -> None:
    assert "no such file or directory. The workspace is" in await call(tmp_path / "gone", "list_directory")


STEPS = ["..", ".", "", "sub", "here", "root", "over", "up", "ok.txt", "deep.txt", "key.txt", "out.txt", "good_link"]
STEPS += [
    "link_file",
    "link_dir",
    "ws",
    "ws_secret",
    "a",
    "loop",
    "abs_link",
    "chain1",
    "pipe",
    "zero",
    "dir_pipe",
    "nix",
]
STARTS = ["", "", "", "/w/ws/", "/w/", "/"]


def readable(ws: Path, path: str) -> bool:
    """The oracle: each part of the path, as the system resolves it, is inside, and the whole is a regular file."""
    relative = path.removeprefix(str(ws)) if path.startswith(f"{ws}/") else path
    if relative == "" or (relative.startswith("/") and relative is path):
        return False
    steps = relative.strip("/").split("/")
    parts = [Path(ws, *steps[:end]) for end in range(1, len(steps) + 1)]
    inside = all(Path(os.path.realpath(part)).is_relative_to(ws) for part in parts)
    return inside and os.path.isfile(f"{ws}/{relative}")  # noqa: PTH113 - a `Path` drops the slash at the end


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="w") as folder:
        made = Path(folder).resolve()
        build(made, TREE)
        yield made


def agrees(base: Path, path: str, start: str) -> None:
    ws, full = base / "ws", start.replace("/w", str(base)) + path
    try:
        content = FileTools(Workspace(ws), limit=1000, room=1000).read_file(full)
    except ToolError as error:
        content = f"error: {error}"
    assert (not content.startswith("error: ")) is readable(ws, full), (full, content)
    assert "SECRET" not in content


def test_five_thousand_paths_agree_with_the_systems_own_resolution(shared: Path) -> None:
    chance = random.Random(20)
    for _ in range(examples(5_000, 100_000)):
        agrees(shared, "/".join(chance.choices(STEPS, k=chance.randint(1, 7))), chance.choice(STARTS))


@settings(max_examples=examples(200, 5_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.lists(st.sampled_from(STEPS), min_size=1, max_size=7).map("/".join), start=st.sampled_from(STARTS))
def test_any_path_agrees_with_the_systems_own_resolution(shared: Path, path: str, start: str) -> None:
    agrees(shared, path, start)


@pytest.mark.parametrize(("flags", "target"), [(FILE, "/etc/passwd"), (FOLDER, "/etc")], ids=["file", "folder"])
def test_what_became_a_link_after_it_was_looked_at_is_not_opened(tmp_path: Path, flags: int, target: str) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        os.open(tmp_path / "link", flags)


SWAP = """
import shutil, sys
from contextlib import suppress
from pathlib import Path

ws, target = Path(sys.argv[1]), sys.argv[2]
spot, aside = ws / "spot", ws / "aside"
print("swapping", flush=True)
while True:
    for step in (
        lambda: spot.rename(aside),
        lambda: spot.symlink_to(target),
        spot.unlink,
        lambda: shutil.rmtree(spot),
        lambda: aside.rename(spot),
    ):
        with suppress(OSError):
            step()
"""


@contextmanager
def swapping(base: Path, target: Path) -> Iterator[None]:
    """Let `spot` be now what it is, now a link that leads out, whatever the tools make of it meanwhile."""
    command = [sys.executable, "-c", SWAP, str(base / "ws"), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"swapping\n"
        try:
            yield
        finally:
            swapper.kill()


RACES: list[tuple[str, dict[str, str], list[tuple[str, dict[str, JsonValue]]]]] = [
    (
        ".",
        {"/w/ws/spot/out.txt": "inside", "/w/ws/spot/sub/x": "x"},
        [
            ("read_file", {"path": "spot/out.txt"}),
            ("write_file", {"path": "spot/out.txt", "text": "inside"}),
            ("write_file", {"path": "spot/new.txt", "text": "inside"}),
            ("list_directory", {"path": "spot"}),
            ("search_files", {"pattern": "SECRET|inside"}),
        ],
    ),
    (
        "out.txt",
        {"/w/ws/spot": "inside"},
        [
            ("read_file", {"path": "spot"}),
            ("edit_file", {"path": "spot", "old": "S", "new": "s"}),
            ("write_file", {"path": "spot", "text": "more", "append": True}),
            ("search_files", {"pattern": "SECRET|inside"}),
        ],
    ),
]


@pytest.fixture
def quick() -> Iterator[Path]:
    """A folder in memory where there is one: what waits for the disk does not race."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="w", dir=memory) as folder:
        yield Path(folder).resolve()


@pytest.mark.parametrize(("target", "tree", "calls"), RACES, ids=["folder", "file"])
def test_what_becomes_a_link_leads_nobody_out(
    quick: Path, target: str, tree: dict[str, str], calls: list[tuple[str, dict[str, JsonValue]]]
) -> None:
    build(quick, {**tree, "/w/out.txt": "SECRET"})
    before = outside(quick)
    rounds = examples(1000, 10_000) // len(calls)
    with swapping(quick, quick / target):
        answers = [asyncio.run(ask(quick / "ws", name, given)) for _ in range(rounds) for name, given in calls]
    assert "SECRET" not in "".join(answers)
    assert outside(quick) == before
    assert {answer.startswith("error") for answer in answers} == {True, False}
