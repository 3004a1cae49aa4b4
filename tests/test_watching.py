"""Documents that are at hand as they were at the last look, and read only when they changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bumble_core import WatchedDocuments
from bumble_core.builtin.documents import FileDocuments
from bumble_core.ports import Documents
from bumble_core.types.documents import ABSENT, Document, Version
from tests.builtin.storage_support import CountingFiles, WoundClock


class Unstamped:
    """Documents of a stranger: they must be read to be known."""

    def __init__(self, inner: FileDocuments) -> None:
        self._inner = inner

    async def read(self, path: str) -> Document:
        return await self._inner.read(path)

    async def write(self, path: str, text: str, expected: str) -> Document:
        return await self._inner.write(path, text, expected)

    async def list(self, folder: str = "") -> tuple[str, ...]:
        return await self._inner.list(folder)

    async def versions(self, path: str) -> tuple[Version, ...]:
        return await self._inner.versions(path)

    async def read_version(self, path: str, version: str) -> Document:
        return await self._inner.read_version(path, version)


async def kept(home: Path) -> tuple[FileDocuments, CountingFiles]:
    files, clock = CountingFiles(), WoundClock(datetime.now(UTC) + timedelta(hours=1))
    documents = FileDocuments(home, files, clock)
    for path in ("a.md", "skills/one.md", "skills/two.md"):
        await documents.write(path, path, ABSENT)
    files.reads = 0
    return documents, files


async def test_a_second_look_reads_nothing(tmp_path: Path) -> None:
    documents, files = await kept(tmp_path)
    watched = WatchedDocuments(documents, "a.md", "none.md", "skills")
    await watched.look()
    first = files.reads
    await watched.look()
    assert (first, files.reads) == (3, 3)
    assert list(watched.found) == ["a.md", "skills/one.md", "skills/two.md"]


async def test_only_what_changed_is_read(tmp_path: Path) -> None:
    documents, files = await kept(tmp_path)
    watched = WatchedDocuments(documents, "a.md", "skills")
    await watched.look()
    files.reads = 0
    (tmp_path / "memory" / "skills" / "one.md").write_text("another text")
    (tmp_path / "memory" / "skills" / "two.md").unlink()
    await watched.look()
    assert files.reads == 1
    assert {path: document.text for path, document in watched.found.items()} == {
        "a.md": "a.md",
        "skills/one.md": "another text",
    }


async def test_what_is_not_wanted_is_not_read(tmp_path: Path) -> None:
    documents, files = await kept(tmp_path)
    watched = WatchedDocuments(documents, "skills", wanted=lambda path: path.endswith("two.md"))
    await watched.look()
    assert (list(watched.found), files.reads) == (["skills/two.md"], 1)


async def test_documents_without_stamps_are_read_each_time(tmp_path: Path) -> None:
    documents, files = await kept(tmp_path)
    stranger: Documents = Unstamped(documents)
    watched = WatchedDocuments(stranger, "a.md", "none.md", "skills")
    await watched.look()
    (tmp_path / "memory" / "a.md").write_text("changed")
    await watched.look()
    assert (watched.text("a.md"), watched.text("none.md")) == ("changed", "")
    assert list(watched.found) == ["a.md", "skills/one.md", "skills/two.md"]
    assert files.reads == 6


async def test_a_file_that_is_no_text_or_leads_away_is_passed_over(tmp_path: Path) -> None:
    documents, _ = await kept(tmp_path)
    (tmp_path / "memory" / "a.md").write_bytes(b"\xff\xfe")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "memory" / "skills" / "away.md").symlink_to(tmp_path / "secret")
    watched = WatchedDocuments(documents, "a.md", "skills")
    await watched.look()
    assert list(watched.found) == ["skills/one.md", "skills/two.md"]
