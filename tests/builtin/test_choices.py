"""The models that the user chose: a file that cannot be read is no choice, and never an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from bumble_core.builtin.choices import FileModelChoices
from bumble_core.builtin.system import SystemFiles
from bumble_core.types.inference import ModelRef

WISE = ModelRef(provider="owl", model="wise")


@pytest.mark.parametrize(
    "content",
    [b"{", b"\xff", b"[1]", b'{"interactive": 5}', b"[" * 100_000],
    ids=["cut", "no-text", "list", "number", "deep"],
)
async def test_a_damaged_file_is_kept_aside_and_counts_as_no_choice(tmp_path: Path, content: bytes) -> None:
    tmp_path.joinpath("models.json").write_bytes(content)
    choices = FileModelChoices(tmp_path, SystemFiles())
    assert choices.chosen("interactive") == ()
    assert tmp_path.joinpath("models.unreadable.json").read_bytes() == content
    await choices.choose("interactive", (WISE,))
    assert FileModelChoices(tmp_path, SystemFiles()).chosen("interactive") == (WISE,)


def test_a_folder_in_its_place_counts_as_no_choice(tmp_path: Path) -> None:
    tmp_path.joinpath("models.json").mkdir()
    assert FileModelChoices(tmp_path, SystemFiles()).chosen("interactive") == ()
