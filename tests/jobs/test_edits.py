"""A person edits a file at random moments while a job writes it: no line and no locked section of theirs is lost."""

from __future__ import annotations

import asyncio
import random
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.system import SystemClock
from bumble_core.jobs.applying import Applying
from bumble_core.types.documents import ABSENT
from bumble_core.types.jobs import JobResult, JobSpec, JobView, Write
from tests.builtin.storage_support import WoundClock
from tests.jobs.world import FastFiles

ROUNDS, FILES = 50, 10
NOTES = "notes.md"
SPEC = JobSpec(id="own", summary="", triggers=(), outputs=(NOTES,))
LOCKED = "## [locked] rules\nNever share keys.\n"


class Person(threading.Thread):
    """Adds one line after the other, as editors do: written in place, or written beside and renamed."""

    def __init__(self, file: Path, seed: int) -> None:
        super().__init__()
        self._file, self._chance = file, random.Random(seed)
        self.lines: list[str] = []
        self.is_done = threading.Event()
        self._pause = threading.Event()

    def run(self) -> None:
        for number in range(ROUNDS):
            self._add(f"- mine {number}\n")
            self._pause.wait(self._chance.uniform(0, 0.015))
        self.is_done.set()

    def _add(self, line: str) -> None:
        text = self._file.read_text()
        self.lines.append(line)
        if self._chance.random() < 0.5:
            self._file.write_text(text + line)
        else:
            beside = self._file.with_name("notes.md~")
            beside.write_text(text + line)
            beside.replace(self._file)


class Nothing:
    spec = SPEC

    async def run(self, view: JobView) -> JobResult:
        raise NotImplementedError


async def write_until_done(documents: FileDocuments, person: Person) -> int:
    """Be a job that looks, thinks for a moment and writes what it made of it."""
    applying, chance, runs = Applying(documents, 1.0), random.Random(5), 0

    async def ignore(changes: object) -> None: ...

    while not person.is_done.is_set():
        before = await documents.read(NOTES)
        view = JobView(run_id="run", at=datetime.now(UTC), documents={NOTES: before})
        await asyncio.sleep(chance.uniform(0, 0.004))
        text = before.text.replace(LOCKED, "") + f"- its {runs}\n"
        result = JobResult(summary="", read=0, writes=(Write(path=NOTES, text=text),))
        await applying.apply(SPEC, Nothing(), view, result, ignore)
        runs += 1
    return runs


@pytest.mark.parametrize("seed", range(FILES))
async def test_no_line_of_a_person_is_lost_in_500_rounds(seed: int, tmp_path: Path) -> None:
    documents = FileDocuments(tmp_path, FastFiles(), SystemClock())
    await documents.write(NOTES, f"{LOCKED}\n## notes\n", ABSENT)
    person = Person(tmp_path / "memory" / NOTES, seed)
    person.start()
    runs = await write_until_done(documents, person)
    person.join()
    text = (await documents.read(NOTES)).text
    kept = "".join(file.read_text() for file in (tmp_path / "history" / NOTES).iterdir())
    lost = [line for line in person.lines if line not in text]
    assert [line for line in lost if line not in kept] == []
    assert len(lost) < ROUNDS / 5
    assert LOCKED in text
    assert text.count("[locked]") == 1
    assert runs > 2


class Racing(FastFiles):
    """Has a person edit the file in the moment before it is swapped."""

    def __init__(self, file: Path, text: str) -> None:
        self._file, self._text = file, text

    def swap(self, source: Path, target: Path) -> bool:
        if self._text:
            text, self._text = self._text, ""
            self._file.write_text(text)
        return super().swap(source, target)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [("one\ntwo\nthree\nmine\n", "one\nits\nthree\nmine\n"), ("one\nMINE\nthree\n", "one\nMINE\nits\nthree\n")],
    ids=["apart", "same-line"],
)
async def test_edit_that_a_swap_displaced_is_merged(tmp_path: Path, edit: str, expected: str) -> None:
    file = tmp_path / "memory" / NOTES
    documents = FileDocuments(tmp_path, FastFiles(), WoundClock())
    before = await documents.write(NOTES, "one\ntwo\nthree\n", ABSENT)
    racing = FileDocuments(tmp_path, Racing(file, edit), WoundClock())
    after = await racing.write(NOTES, "one\nits\nthree\n", before.version)
    assert (after.text, file.read_text()) == (expected, expected)
    kept = {(await racing.read_version(NOTES, each.version)).text for each in await racing.versions(NOTES)}
    assert kept >= {"one\ntwo\nthree\n", edit}


async def test_edit_that_is_no_text_is_kept_among_the_versions(tmp_path: Path) -> None:
    class Raw(Racing):
        def swap(self, source: Path, target: Path) -> bool:
            if self._text:
                self._text = ""
                self._file.write_bytes(b"\xff\xfe")
            return FastFiles.swap(self, source, target)

    documents = FileDocuments(tmp_path, FastFiles(), WoundClock())
    before = await documents.write(NOTES, "one\n", ABSENT)
    raw = FileDocuments(tmp_path, Raw(tmp_path / "memory" / NOTES, "x"), WoundClock())
    assert (await raw.write(NOTES, "two\n", before.version)).text == "two\n"
    assert b"\xff\xfe" in [file.read_bytes() for file in (tmp_path / "history" / NOTES).iterdir()]
