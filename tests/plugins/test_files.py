"""What the file tools read, write, edit, list and find."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from bumble_files import FilesConfig, FilesPlugin
from bumble_files.tools import FileTools
from bumble_files.workspace import Workspace
from pydantic import ValidationError

from bumble_core import Settings, ToolError
from tests.plugins.workspaces import ask, call, case

ROWS: list[dict[str, Any]] = case("H21_edit_file")["given"]["rows"]


def bytes_of(row: dict[str, Any]) -> bytes:
    return base64.b64decode(row["before_b64"]) if "before_b64" in row else row["before"].encode()


@pytest.mark.parametrize("row", [r for r in ROWS if "fault" not in r], ids=lambda row: row["name"])
async def test_an_edit_gives_exactly_the_expected_bytes(tmp_path: Path, row: dict[str, Any]) -> None:
    place = tmp_path / "file"
    place.write_bytes(bytes_of(row))
    place.chmod(int(row.get("mode", "0644"), 8))
    answer = await call(tmp_path, "edit_file", path="file", **row["edit"])
    wanted = [row[key] for key in ("error_contains",) if key in row] or row.get("error_contains_any", [])
    assert answer.startswith("error: ") is bool(wanted)
    assert not wanted or any(word in answer for word in wanted)
    after = row["after"].encode() if "after" in row else base64.b64decode("Y2Fm6SA9IDIK")
    assert (place.read_bytes(), [*tmp_path.iterdir()]) == (after, [place])
    assert stat.S_IMODE(place.stat().st_mode) == int(row.get("mode_after", "0644"), 8)


def full_after(count: int) -> Any:
    """Return a write that puts `count` bytes on the disk and then finds it full."""

    def write(handle: int, data: memoryview) -> int:
        if os.fstat(handle).st_size >= count:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(handle, data[:count])

    return write


def test_a_full_disk_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row["name"] == "disk_full")
    (tmp_path / "file").write_text(row["before"])
    files = FileTools(Workspace(tmp_path), limit=1000, room=1000, write=full_after(3))
    with pytest.raises(ToolError, match="space"):
        files.edit_file("file", **row["edit"])
    with pytest.raises(ToolError, match="space"):
        files.write_file("other", "text")
    assert [(place.name, place.read_text()) for place in tmp_path.iterdir()] == [("file", row["after"])]


def test_a_write_that_is_taken_in_pieces_arrives_whole(tmp_path: Path) -> None:
    files = FileTools(Workspace(tmp_path), limit=1000, room=1000, write=lambda handle, data: os.write(handle, data[:2]))
    files.write_file("file", "in pieces")
    assert (tmp_path / "file").read_text() == "in pieces"


EDITS = [
    ("bom-kept", b"\xef\xbb\xbfone\r\ntwo\r\n", "two", "2\n3", b"\xef\xbb\xbfone\r\n2\r\n3\r\n"),
    ("old-in-crlf", b"one\r\ntwo\r\n", "one\r\ntwo", "1", b"1\r\n"),
    ("mixed-endings-stay", b"a\r\nb\nc\r\nd\n", "b", "x\ny", b"a\r\nx\ny\nc\r\nd\n"),
    ("mixed-endings-crlf-place", b"a\nb\r\nc\n", "b", "x\ny", b"a\nx\r\ny\r\nc\n"),
    ("last-line-without-ending", b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
    ("deletion", b"a\r\nb\r\nc\r\n", "b\n", "", b"a\r\nc\r\n"),
    ("lone-carriage-returns", b"a\rb\rc", "b", "x", b"a\rx\rc"),
    ("line-separators", "a\u2028b\x0cc\n".encode(), "b", "x", "a\u2028x\x0cc\n".encode()),
    ("emoji", "\U0001f41d bee\n".encode(), "bee", "\U0001f41d", "\U0001f41d \U0001f41d\n".encode()),
]


@pytest.mark.parametrize(("name", "before", "old", "new", "after"), EDITS, ids=[row[0] for row in EDITS])
async def test_an_edit_changes_nothing_else(
    tmp_path: Path, name: str, before: bytes, old: str, new: str, after: bytes
) -> None:
    (tmp_path / name).write_bytes(before)
    answer = await call(tmp_path, "edit_file", path=name, old=old, new=new)
    assert (tmp_path / name).read_bytes() == after, answer


@pytest.mark.parametrize(
    ("before", "old", "message"),
    [
        ("a\nb\na\nb\na\n", "a", "`old` matches 3 places, at lines 1, 3, 5;"),
        ("aaa", "aa", "matches 2 places, at lines 1, 1"),
        ("aaaa", "aa", "matches 3 places, at lines 1, 1, 1;"),
        ("x\n" * 50, "x", "matches 50 places, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more"),
        ("def one():\n    pass\n", "def won():\n", "nearest is line 1: 'def one():'"),
        ("\tindented\n", "  indented\n", "nearest is line 1: '\\tindented'"),
        ("a\n", "completely different", "`old` was not found. Nothing was changed"),
        ("same\n", "same", "`old` and `new` are the same"),
        ("a\x00b", "a", "binary file"),
    ],
    ids=["three", "overlapping", "all-overlapping", "many", "alike", "spaces", "nothing-near", "same", "binary"],
)
async def test_an_edit_that_cannot_be_made_says_why(tmp_path: Path, before: str, old: str, message: str) -> None:
    (tmp_path / "file").write_text(before)
    answer = await call(tmp_path, "edit_file", path="file", old=old, new="same")
    assert message in answer
    assert (tmp_path / "file").read_text() == before


async def test_looking_for_what_is_near_takes_no_time_in_a_large_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("some line of text, rather long and alike\n" * 100_000)
    begin = time.monotonic()
    assert "not found" in await call(tmp_path, "edit_file", path="file", old="x" * 100_000, new="")
    assert time.monotonic() - begin < 2


async def test_edits_of_one_step_do_not_undo_each_other(tmp_path: Path) -> None:
    words = [f"word{number}." for number in range(20)]
    (tmp_path / "file").write_text("\n".join(words))
    changes = (call(tmp_path, "edit_file", path="file", old=word, new=word.upper()) for word in words)
    await asyncio.gather(*changes)
    assert (tmp_path / "file").read_text() == "\n".join(words).upper()


async def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def write(handle: int, data: memoryview) -> int:
        (tmp_path / "file").write_text("somebody else's words")
        return os.write(handle, data)

    (tmp_path / "file").write_text("old")
    with pytest.raises(ToolError, match="changed by somebody else meanwhile; read it again"):
        FileTools(Workspace(tmp_path), limit=99, room=99, write=write).edit_file("file", "old", "new")
    assert (tmp_path / "file").read_text() == "somebody else's words"


WRITES = [
    ("new", None, "a\nb\n", False, b"a\nb\n"),
    ("empty", b"old", "", False, b""),
    ("crlf-kept", b"x\r\ny\r\n", "a\nb\n", False, b"a\r\nb\r\n"),
    ("bom-kept", b"\xef\xbb\xbfx\n", "a\n", False, b"\xef\xbb\xbfa\n"),
    ("bom-once", b"\xef\xbb\xbfx\n", "\ufeffa\n", False, b"\xef\xbb\xbfa\n"),
    ("given-crlf", b"x\n", "a\r\nb", False, b"a\r\nb"),
    ("over-binary", b"\x00\x01", "a", False, b"a"),
    ("append", b"one\n", "two\n", True, b"one\ntwo\n"),
    ("append-new", None, "one\n", True, b"one\n"),
    ("append-crlf", b"one\r\n", "two\n", True, b"one\r\ntwo\r\n"),
    ("append-latin1", b"caf\xe9\n", "two\n", True, b"caf\xe9\ntwo\n"),
]


@pytest.mark.parametrize(("name", "before", "text", "append", "after"), WRITES, ids=[row[0] for row in WRITES])
async def test_a_write_gives_exactly_the_expected_bytes(
    tmp_path: Path, name: str, before: bytes | None, text: str, append: bool, after: bytes
) -> None:
    if before is not None:
        (tmp_path / name).write_bytes(before)
    answer = await call(tmp_path, "write_file", path=name, text=text, append=append)
    assert (tmp_path / name).read_bytes() == after, answer
    assert f"{len(text)} characters: {name} now has {len(after)} bytes" in answer


async def test_a_write_keeps_the_mode_and_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o750)
    umask = os.umask(0o027)
    try:
        await call(tmp_path, "write_file", path="run.sh", text="#!/bin/sh\nexit\n")
        await call(tmp_path, "write_file", path="new/file", text="x")
    finally:
        os.umask(umask)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("run.sh", "new", "new/file")]
    assert modes == [0o750, 0o750, 0o640]


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [(b"x", 0o444, "the file is read-only"), (b"\x00", 0o644, "binary file; nothing can be appended")],
    ids=["read-only", "binary"],
)
async def test_what_cannot_be_appended_to_is_left(tmp_path: Path, content: bytes, mode: int, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    (tmp_path / "file").chmod(mode)
    assert message in await call(tmp_path, "write_file", path="file", text="y", append=True)
    assert (tmp_path / "file").read_bytes() == content


READS = [
    ("whole", b"a\nb\n", {}, "[file: lines 1-2 of 2]\na\nb"),
    (
        "range",
        b"a\nb\nc\nd\n",
        {"start_line": 2, "line_count": 2},
        "[file: lines 2-3 of 4; go on with start_line=4]\nb\nc",
    ),
    ("no-newline", b"a\nb", {"start_line": 2}, "[file: lines 2-2 of 2; no newline at the end]\nb"),
    ("crlf", b"a\r\nb\r\n", {}, "[file: lines 1-2 of 2; lines end in CRLF]\na\nb"),
    ("bom", b"\xef\xbb\xbfa\n", {}, "[file: lines 1-1 of 1]\na"),
    ("latin1", b"caf\xe9\n", {}, "[file: lines 1-1 of 1; some bytes are not UTF-8 and shown as \ufffd]\ncaf\ufffd"),
    ("empty", b"", {}, "file: empty file"),
    ("binary", b"\x89PNG\x00\x01", {}, "file: binary file of 6 bytes, not shown"),
    ("blank-lines", b"\n\n", {}, "[file: lines 1-2 of 2]\n\n"),
    ("separators", "a\u2028b\n".encode(), {}, "[file: lines 1-1 of 1]\na\u2028b"),
]


@pytest.mark.parametrize(("name", "data", "given", "content"), READS, ids=[row[0] for row in READS])
async def test_a_read_gives_lines_and_totals(
    tmp_path: Path, name: str, data: bytes, given: dict[str, Any], content: str
) -> None:
    (tmp_path / "file").write_bytes(data)
    assert await call(tmp_path, "read_file", path="file", **given) == content


async def test_a_read_beyond_the_end_says_how_many_lines_there_are(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a\nb\n")
    assert "the file has 2 lines, none from 9 on" in await call(tmp_path, "read_file", path="file", start_line=9)


async def test_a_misspelt_name_gets_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    assert "did you mean `notes.txt`?" in await call(tmp_path, "read_file", path="note.txt")


@pytest.mark.parametrize(
    ("there", "meant", "hint"),
    [
        ("Notes.TXT", "notes.txt", "did you mean `Notes.TXT`?"),
        ("e\u0301te\u0301", "\u00e9t\u00e9", "with other Unicode characters?"),
    ],
    ids=["case", "decomposed"],
)
async def test_a_name_that_looks_the_same_is_named(tmp_path: Path, there: str, meant: str, hint: str) -> None:
    tmp_path.joinpath(there).write_text("here\n")
    assert hint in await call(tmp_path, "read_file", path=meant)


@pytest.mark.parametrize("name", ["write_file", "read_file", "edit_file"])
async def test_a_name_with_line_breaks_stays_on_one_line_of_an_answer(tmp_path: Path, name: str) -> None:
    path = "a\n[b]\x1b[31m"
    tmp_path.joinpath(path).write_text("old\n")
    given = {"write_file": {"text": "x"}, "read_file": {}, "edit_file": {"old": "old", "new": "new"}}
    answer = await ask(tmp_path, name, {"path": path, **given[name]})
    assert answer.splitlines()[0].count("a\\n[b]\\x1b[31m") == 1


async def test_a_path_that_is_too_deep_makes_no_folder(tmp_path: Path) -> None:
    answer = await call(tmp_path, "write_file", path="a/" * 120 + "b", text="x")
    assert ("more than 100 folders deep" in answer, [*tmp_path.iterdir()]) == (True, [])


async def test_a_deep_path_is_made(tmp_path: Path) -> None:
    await call(tmp_path, "write_file", path="a/" * 60 + "b", text="x")
    assert tmp_path.joinpath(*["a"] * 60, "b").read_text() == "x"


async def test_a_mark_of_byte_order_is_appended_nowhere(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_bytes(b"\xef\xbb\xbfa")
    await call(tmp_path, "write_file", path="file", text="\ufeffb", append=True)
    assert place.read_bytes() == b"\xef\xbb\xbfab"


async def test_a_long_file_is_read_page_by_page_to_its_end(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1, 2001)]
    (tmp_path / "file").write_text("\n".join(lines) + "\n")
    seen: list[str] = []
    while len(seen) < 2000:
        answer = await ask(tmp_path, "read_file", {"path": "file", "start_line": len(seen) + 1}, chars=2000)
        assert len(answer) <= 2000
        seen += answer.split("\n")[1:]
    assert seen == lines


async def test_a_long_line_is_cut_with_a_marker(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x" * 5000 + "\nshort\n")
    answer = await call(tmp_path, "read_file", path="file")
    assert answer.split("\n")[1:] == ["x" * 2000 + "[… 3000 more characters]", "short"]


async def test_a_file_over_the_limit_is_read_in_part_and_never_changed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("abc\n" * 100)
    answer = await ask(tmp_path, "read_file", {"path": "file"}, limit=40)
    assert answer.startswith("[file: lines 1-10 of more than 10; only the first 40 of 400 bytes can be read]")
    edit = await ask(tmp_path, "edit_file", {"path": "file", "old": "abc", "new": "x"}, limit=40)
    assert "400 bytes are too many; at most 40 can be changed" in edit


async def test_a_sparse_file_of_a_terabyte_takes_no_time(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(1 << 40)
    begin = time.monotonic()
    answers = [await call(tmp_path, "read_file", path="file"), await call(tmp_path, "search_files", pattern="x")]
    answers += [await call(tmp_path, "edit_file", path="file", old="a", new="b")]
    answers += [await call(tmp_path, "write_file", path="file", text="b", append=True)]
    assert time.monotonic() - begin < 2
    assert f"binary file of {1 << 40} bytes" in answers[0]
    assert [answer[:6] for answer in answers[2:]] == ["error:", "error:"]


async def test_a_folder_is_listed_with_kinds_and_sizes(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("abc")
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "two\nlines").touch()
    expected = ["a/", "b.txt (3 bytes)", "link (a link)", "pipe (a pipe)", "two\\nlines (0 bytes)"]
    assert (await call(tmp_path, "list_directory")).split("\n") == expected
    assert await call(tmp_path, "list_directory", path="a") == "a: empty folder"


async def test_a_large_folder_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(1005):
        (tmp_path / f"{number:04}").touch()
    lines = (await call(tmp_path, "list_directory")).split("\n")
    assert len(lines) == 1001
    assert "only 1000 entries are shown" in lines[-1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    texts = {"a.py": "import os\nx = 1\n", "src/b.py": "x = 2\n", "src/deep/c.md": "# x\n", ".git/config": "x = 3\n"}
    for path, text in (texts | {"src/bin": "x = \x00", "src/latin": "caf\udce9 x = 9\n"}).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "outside").symlink_to("/etc")
    (tmp_path / "again").symlink_to("src")
    return tmp_path


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"pattern": "^x = [12]"}, ["a.py:2: x = 1", "src/b.py:1: x = 2"]),
        ({"pattern": "x = ", "path": "src"}, ["src/b.py:1: x = 2", "src/latin:1: caf\ufffd x = 9"]),
        ({"pattern": "x", "glob": "*.md"}, ["src/deep/c.md:1: # x"]),
        ({"pattern": "x", "path": "a.py"}, ["a.py:2: x = 1"]),
        ({"pattern": "nowhere"}, []),
        ({"glob": "*.py"}, ["a.py", "src/b.py"]),
        ({"glob": "src/*"}, ["src/b.py", "src/bin", "src/latin"]),
        ({"glob": "src/**"}, ["src/b.py", "src/bin", "src/deep/c.md", "src/latin"]),
        ({"glob": "**/deep/*"}, ["src/deep/c.md"]),
        ({"glob": "src/**/c.??"}, ["src/deep/c.md"]),
        ({"glob": "[ab].py"}, ["a.py", "src/b.py"]),
        ({"glob": "**/*.py", "path": "again"}, ["src/b.py"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
async def test_search_finds_lines_and_files(tree: Path, given: dict[str, Any], found: list[str]) -> None:
    head, *lines = (await call(tree, "search_files", **given)).split("\n")
    assert lines == found
    assert head.startswith(f"[{len(found)} found, files looked at: ")


async def test_search_says_what_it_could_not_read(tree: Path) -> None:
    assert "1 not or not wholly read" in await call(tree, "search_files", pattern="x")


@pytest.mark.parametrize("pattern", ["(", "(?<=a)b", "(a)\\1"], ids=["unclosed", "look-behind", "back-reference"])
async def test_a_pattern_that_the_engine_does_not_take_is_refused(tree: Path, pattern: str) -> None:
    assert "`pattern` is not a regular expression" in await call(tree, "search_files", pattern=pattern)


async def test_no_pattern_hangs_a_search(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a" * 50_000 + "!\n")
    begin = time.monotonic()
    assert "[0 found" in await call(tmp_path, "search_files", pattern="^(a+)+$")
    assert time.monotonic() - begin < 2


async def test_a_search_with_many_matches_is_cut(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x\n" * 500)
    head, *lines = (await call(tmp_path, "search_files", pattern="x")).split("\n")
    assert len(lines) == 100
    assert "there may be more; narrow the search" in head


def test_no_call_leaves_a_file_open(tree: Path) -> None:
    before = len([*Path("/dev/fd").iterdir()])
    for name, given in [
        ("read_file", {"path": "a.py"}),
        ("read_file", {"path": "src/../../x"}),
        ("search_files", {"pattern": "x"}),
        ("write_file", {"path": "n/e/w", "text": "x"}),
        ("list_directory", {"path": "src/deep"}),
    ]:
        asyncio.run(ask(tree, name, dict(given)))
    assert len([*Path("/dev/fd").iterdir()]) == before


def test_five_tools_are_offered_and_all_are_work() -> None:
    tools = FilesPlugin(FilesConfig()).bumble_tools(Settings())
    names = [tool.spec.name for tool in tools if tool.is_work]
    assert names == ["read_file", "write_file", "edit_file", "list_directory", "search_files"]
    assert all("\n" not in tool.spec.description for tool in tools)


def test_the_configuration_is_closed() -> None:
    with pytest.raises(ValidationError, match="rot"):
        FilesConfig.model_validate({"rot": "."})
