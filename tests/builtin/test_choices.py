"""The models that the user chose: a file that cannot be read is no choice, and never an error."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bumble_core.builtin.choices import FileModelChoices
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.types.inference import ModelRef

WISE = ModelRef(provider="owl", model="wise")


def at(home: Path) -> FileModelChoices:
    """Return the choices of one process."""
    return FileModelChoices(home, SystemFiles(), SystemClock())


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff", b"[1]", b'{"interactive": 5}', b"[" * 100_000],
    ids=["cut", "no-text", "list", "number", "deep"],
)
async def test_a_damaged_file_is_kept_aside_and_counts_as_no_choice(tmp_path: Path, content: bytes) -> None:
    tmp_path.joinpath("models.json").write_bytes(content)
    choices = at(tmp_path)
    assert choices.chosen("interactive") == ()
    assert tmp_path.joinpath("models.unreadable.json").read_bytes() == content
    await choices.choose("interactive", (WISE,))
    assert at(tmp_path).chosen("interactive") == (WISE,)


def test_a_folder_in_its_place_counts_as_no_choice(tmp_path: Path) -> None:
    tmp_path.joinpath("models.json").mkdir()
    assert at(tmp_path).chosen("interactive") == ()


async def test_what_one_process_chooses_holds_in_the_others_and_loses_no_choice_of_theirs(tmp_path: Path) -> None:
    here, there = at(tmp_path), at(tmp_path)
    assert (here.chosen("a"), there.chosen("a")) == ((), ())
    await here.choose("a", (WISE,))
    await there.choose("b", (WISE, WISE))
    assert (there.chosen("a"), here.chosen("b")) == ((WISE,), (WISE, WISE))
    await there.choose("a", ())
    assert (here.chosen("a"), here.chosen("b")) == ((), (WISE, WISE))


async def test_choices_of_many_processes_at_once_are_all_kept(tmp_path: Path) -> None:
    processes = [at(tmp_path) for _ in range(8)]
    async with asyncio.TaskGroup() as group:
        for number, process in enumerate(processes):
            group.create_task(process.choose(f"job_{number}", (WISE,)))
    assert [at(tmp_path).chosen(f"job_{number}") for number in range(8)] == [(WISE,)] * 8
