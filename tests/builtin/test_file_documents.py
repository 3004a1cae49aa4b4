"""The agent's memory: whole texts, versions, nothing lost between two writers."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bumble_core.atomic import PART_SUFFIX
from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.kept_versions import KEPT_VERSIONS
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import ContractError, DocumentError, VersionConflict
from bumble_core.ports import Documents, Stamped
from bumble_core.types.documents import ABSENT
from tests.builtin.storage_processes import start, wait_for
from tests.builtin.storage_support import NOON, CountingFiles, FullDisk, WoundClock


@pytest.fixture
def documents(tmp_path: Path, clock: WoundClock) -> FileDocuments:
    return FileDocuments(tmp_path, SystemFiles(), clock)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_fills_the_port_and_touches_nothing_before_its_first_use(tmp_path: Path, clock: WoundClock) -> None:
    assert isinstance(FileDocuments(tmp_path / "home", SystemFiles(), clock), Documents)
    assert not (tmp_path / "home").exists()


async def test_a_missing_document_is_empty_and_absent(documents: FileDocuments) -> None:
    missing = await documents.read("semantic/facts.md")
    assert (missing.text, missing.version) == ("", ABSENT)


@pytest.mark.parametrize(
    "text", ["", "a\nb\n", "a\r\nb\r", "\ufeffbom", "漢字 🐝"], ids=["empty", "lf", "crlf", "bom", "scripts"]
)
async def test_a_text_is_kept_byte_by_byte(documents: FileDocuments, tmp_path: Path, text: str) -> None:
    written = await documents.write("a/b.md", text, ABSENT)
    assert (tmp_path / "memory/a/b.md").read_bytes() == text.encode()
    assert written.version == hashlib.sha256(text.encode()).hexdigest()
    assert await documents.read("a/b.md") == written


async def test_an_outdated_write_is_refused_with_both_versions(documents: FileDocuments, tmp_path: Path) -> None:
    first = await documents.write("a.md", "one", ABSENT)
    (tmp_path / "memory/a.md").write_text("edited by hand")
    now = await documents.read("a.md")
    with pytest.raises(VersionConflict, match=f"`a.md`: expected version `{first.version}`, found `{now.version}`"):
        await documents.write("a.md", "two", first.version)
    assert (await documents.read("a.md")).text == "edited by hand"


@pytest.mark.parametrize("expected", [ABSENT, "0" * 64], ids=["there-by-now", "never-was"])
async def test_a_write_that_expects_something_else_is_refused(documents: FileDocuments, expected: str) -> None:
    await documents.write("there.md", "x", ABSENT)
    with pytest.raises(VersionConflict):
        await documents.write("there.md" if expected == ABSENT else "new.md", "y", expected)


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../../x",
        "a/..",
        "/etc/passwd",
        "a\\b",
        "nul\0",
        "out/x.md",
        "loop",
        "dangling",
        "part",
    ],
    ids=ascii,
)
async def test_a_path_that_leaves_memory_is_refused(documents: FileDocuments, tmp_path: Path, path: str) -> None:
    (tmp_path / "memory").mkdir()
    for name, target in (("out", tmp_path), ("loop", "loop"), ("dangling", tmp_path / "new.md")):
        (tmp_path / "memory" / name).symlink_to(target)
    wanted = f".x{PART_SUFFIX}" if path == "part" else path
    with pytest.raises(ContractError, match="document path"):
        await documents.read(wanted)
    with pytest.raises(ContractError, match="document path"):
        await documents.write(wanted, "x", ABSENT)
    assert names_in(tmp_path) == ["memory"]


async def test_a_link_inside_memory_is_followed_and_stays_a_link(documents: FileDocuments, tmp_path: Path) -> None:
    before = await documents.write("real.md", "one", ABSENT)
    (tmp_path / "memory/link.md").symlink_to("real.md")
    await documents.write("link.md", "two", before.version)
    assert (await documents.read("real.md")).text == "two"
    assert (tmp_path / "memory/link.md").is_symlink()


async def test_a_memory_folder_that_is_a_link_itself_works(documents: FileDocuments, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory").symlink_to("elsewhere")
    await documents.write("a.md", "x", ABSENT)
    assert await documents.list() == ("a.md",)


@pytest.mark.parametrize("path", ["cognition/runs/x.json", "cognition/jobs/tidy.json", "link/x.json"])
async def test_folders_of_the_job_ledger_cannot_be_written(documents: FileDocuments, tmp_path: Path, path: str) -> None:
    (tmp_path / "memory/cognition/runs").mkdir(parents=True)
    (tmp_path / "memory/link").symlink_to("cognition/runs")
    with pytest.raises(ContractError, match="the job ledger keeps this folder"):
        await documents.write(path, "{}", ABSENT)


async def test_a_file_that_is_not_utf8_is_named_and_never_overwritten(documents: FileDocuments, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/a.md").write_bytes(b"caf\xe9")
    with pytest.raises(DocumentError, match=r"`a.md` is not UTF-8 \(byte 3\); convert it"):
        await documents.read("a.md")
    for expected in (ABSENT, hashlib.sha256(b"caf\xe9").hexdigest()):
        with pytest.raises(DocumentError, match="not UTF-8"):
            await documents.write("a.md", "new", expected)
    assert (tmp_path / "memory/a.md").read_bytes() == b"caf\xe9"


@pytest.mark.parametrize("kind", ["folder", "pipe", "below-a-file", "long-name"])
async def test_what_is_no_text_file_is_an_error_at_once(documents: FileDocuments, tmp_path: Path, kind: str) -> None:
    (tmp_path / "memory/folder").mkdir(parents=True)
    os.mkfifo(tmp_path / "memory/pipe")
    (tmp_path / "memory/file").touch()
    path = {"below-a-file": "file/x.md", "long-name": "x" * 300}.get(kind, kind)
    with pytest.raises(DocumentError, match=f"`{path}`|not a regular file"):
        await documents.read(path)


async def test_half_an_emoji_cannot_be_written_and_says_so(documents: FileDocuments) -> None:
    with pytest.raises(DocumentError, match="surrogates not allowed"):
        await documents.write("a.md", "\ud83d", ABSENT)


async def test_replaced_texts_are_kept_and_can_be_read_newest_first(
    documents: FileDocuments, clock: WoundClock
) -> None:
    one = await documents.write("a.md", "one", ABSENT)
    two = await documents.write("a.md", "two", one.version)
    clock.at += timedelta(seconds=1)
    three = await documents.write("a.md", "three", two.version)
    kept = await documents.versions("a.md")
    assert [version.version for version in kept] == [two.version, one.version]
    assert [version.saved_at for version in kept] == [(NOON + timedelta(seconds=s)).isoformat() for s in (1, 0)]
    assert [(await documents.read_version("a.md", one.version)).text for one in (one, two, three)] == [
        "one",
        "two",
        "three",
    ]
    with pytest.raises(DocumentError, match="version `x` is not kept"):
        await documents.read_version("a.md", "x")


async def test_only_the_newest_replaced_texts_are_kept_in_order_whatever_the_clock_says(
    documents: FileDocuments, clock: WoundClock
) -> None:
    written = [await documents.write("a.md", "0", ABSENT)]
    for number in range(1, KEPT_VERSIONS + 4):
        clock.at -= timedelta(seconds=1)
        written.append(await documents.write("a.md", str(number), written[-1].version))
    kept = [version.version for version in await documents.versions("a.md")]
    assert kept == [document.version for document in reversed(written[-KEPT_VERSIONS - 1 : -1])]


async def test_writing_the_same_text_again_keeps_no_version(documents: FileDocuments) -> None:
    one = await documents.write("a.md", "one", ABSENT)
    assert await documents.write("a.md", "one", one.version) == one
    assert await documents.versions("a.md") == ()


async def test_documents_are_listed_below_a_folder(documents: FileDocuments, tmp_path: Path) -> None:
    for path in ("b.md", "semantic/facts.md", "semantic/deep/x.md", "cognition/state/review.md"):
        await documents.write(path, "x", ABSENT)
    (tmp_path / "memory/cognition/runs/2026").mkdir(parents=True)
    (tmp_path / "memory/cognition/runs/2026/run.json").touch()
    (tmp_path / "memory/out.md").symlink_to("/etc/hostname")
    assert await documents.list("semantic") == ("semantic/deep/x.md", "semantic/facts.md")
    assert await documents.list() == ("b.md", "cognition/state/review.md", "semantic/deep/x.md", "semantic/facts.md")
    assert await documents.list("cognition/runs") == ("cognition/runs/2026/run.json",)
    assert await documents.list("nowhere") == ()


@pytest.mark.parametrize(
    ("operation", "after"),
    [("open", 0), ("open", 1), ("write", 0), ("write", 5), ("fsync", 0), ("fsync", 1), ("replace", 0), ("replace", 1)],
)
async def test_a_full_disk_keeps_the_old_text_and_leaves_no_stray_file(
    tmp_path: Path, clock: WoundClock, operation: str, after: int
) -> None:
    before = await FileDocuments(tmp_path, SystemFiles(), clock).write("a.md", "old", ABSENT)
    full = FileDocuments(tmp_path, FullDisk(operation, after), clock)
    with pytest.raises(DocumentError, match=r"`a.md`: .*No space left"):
        await full.write("a.md", "a new text", before.version)
    assert await full.read("a.md") == before
    assert [path for path in tmp_path.rglob("*") if PART_SUFFIX in path.name] == []


async def test_leftovers_of_a_killed_writer_go_with_the_next_write(documents: FileDocuments, tmp_path: Path) -> None:
    left = [tmp_path / "memory/core" / f".1{PART_SUFFIX}", tmp_path / "history/a.md" / f".2{PART_SUFFIX}"]
    for path in left:
        path.parent.mkdir(parents=True)
        path.touch()
    await documents.write("a.md", "x", ABSENT)
    assert not any(path.exists() for path in left)


async def test_two_processes_that_write_with_retries_lose_no_line(documents: FileDocuments, tmp_path: Path) -> None:
    wait_for(start("add_lines", tmp_path, "a", "50"), start("add_lines", tmp_path, "b", "50"))
    lines = (await documents.read("log.md")).text.splitlines()
    for name in "ab":
        assert [line for line in lines if line[0] == name] == [f"{name} {number}" for number in range(50)]


async def test_a_stamp_stays_while_the_text_does_and_nothing_is_read(tmp_path: Path) -> None:
    files, clock = CountingFiles(), WoundClock()
    documents = FileDocuments(tmp_path, files, clock)
    assert isinstance(documents, Stamped)
    await documents.write("a.md", "one", ABSENT)
    clock.at = datetime.now(UTC) + timedelta(minutes=1)
    files.reads = 0
    assert await documents.stamps(["a.md", "none.md"]) == await documents.stamps(["a.md"])
    assert files.reads == 0


@pytest.mark.parametrize("seconds", [0, 60], ids=["just-written", "settled"])
async def test_a_stamp_changes_with_the_text_however_soon(tmp_path: Path, seconds: int) -> None:
    clock = WoundClock(datetime.now(UTC) + timedelta(seconds=seconds))
    documents = FileDocuments(tmp_path, SystemFiles(), clock)
    file = tmp_path / "memory" / "a.md"
    await documents.write("a.md", "one", ABSENT)
    before = await documents.stamps(["a.md"])
    file.write_text("two")
    if not seconds:
        os.utime(file, ns=(file.stat().st_mtime_ns, file.stat().st_mtime_ns))
    assert await documents.stamps(["a.md"]) != before


async def test_what_is_no_file_has_no_stamp_and_holds_nothing_up(documents: FileDocuments, tmp_path: Path) -> None:
    await documents.write("skills/a/SKILL.md", "x", ABSENT)
    os.mkfifo(tmp_path / "memory" / "pipe.md")
    (tmp_path / "memory" / "skills" / "loop").symlink_to("loop")
    (tmp_path / "memory" / "cognition" / "runs").mkdir(parents=True)
    (tmp_path / "memory" / "cognition" / "runs" / "r.json").write_text("{}")
    assert list(await documents.stamps(["pipe.md", "skills"])) == ["skills/a/SKILL.md"]
    assert list(await documents.stamps([""])) == ["skills/a/SKILL.md"]


async def test_a_folder_has_a_stamp_for_each_document_below_it(documents: FileDocuments) -> None:
    for path in ("skills/a/SKILL.md", "skills/b/SKILL.md", "other.md"):
        await documents.write(path, "x", ABSENT)
    assert sorted(await documents.stamps(["skills", "missing"])) == ["skills/a/SKILL.md", "skills/b/SKILL.md"]
