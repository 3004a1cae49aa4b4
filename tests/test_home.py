"""The folder of an entity: made, recognised, migrated, refused."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal

import pytest
from typing_extensions import override

from bumble_core.atomic import PART_SUFFIX
from bumble_core.builtin.system import SystemFiles
from bumble_core.errors import HomeError
from bumble_core.home import default_home, open_home
from bumble_core.ports import Files


class ReadOnly(SystemFiles):
    @override
    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        if mode != "rb":
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return super().open(path, mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def to_two(home: Path, files: Files) -> None:
    (home / "notes.txt").rename(home / "notes.md")


def to_three(home: Path, files: Files) -> None:
    (home / "notes.md").write_text((home / "notes.md").read_text().upper())


def test_a_new_home_is_private_and_says_its_schema(tmp_path: Path) -> None:
    home = tmp_path / "deep" / "bee"
    open_home(home, SystemFiles())
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert json.loads((home / "home.json").read_text()) == {"schema": 1}


def test_opening_a_home_again_writes_nothing(tmp_path: Path) -> None:
    open_home(tmp_path, SystemFiles())
    open_home(tmp_path, ReadOnly())


def test_an_older_home_is_migrated_step_by_step_with_a_copy_beside_it(tmp_path: Path) -> None:
    home = tmp_path / "bee"
    open_home(home, SystemFiles())
    (home / "notes.txt").write_text("tea")
    open_home(home, SystemFiles(), {1: to_two, 2: to_three})
    assert (home / "notes.md").read_text() == "TEA"
    assert json.loads((home / "home.json").read_text()) == {"schema": 3}
    assert (tmp_path / "bee.schema-1/notes.txt").read_text() == "tea"
    assert names_in(tmp_path) == ["bee", "bee.schema-1"]


def test_a_migration_that_fails_names_the_copy_and_goes_on_from_its_step(tmp_path: Path) -> None:
    def broken(home: Path, files: Files) -> None:
        raise ValueError("no tea")

    home = tmp_path / "bee"
    open_home(home, SystemFiles())
    (home / "notes.txt").write_text("tea")
    with pytest.raises(HomeError, match=r"could not be migrated to schema 3: no tea; its copy is `.*bee\.schema-1`"):
        open_home(home, SystemFiles(), {1: to_two, 2: broken})
    open_home(home, SystemFiles(), {1: to_two, 2: to_three})
    assert (home / "notes.md").read_text() == "TEA"
    assert (tmp_path / "bee.schema-2/notes.md").read_text() == "tea"


def test_a_later_home_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "home.json").write_text('{"schema": 9, "more": 1}')
    with pytest.raises(HomeError, match=r"its schema is 9, this version knows 1\); install that version, or choose"):
        open_home(tmp_path, SystemFiles())


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"schema": "1"}', '{"schema": true}', '{"schema": 0}', "\xff"]
)
def test_a_home_json_that_makes_no_sense_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "home.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(HomeError, match=r"home\.json`"):
        open_home(tmp_path, SystemFiles())


@pytest.mark.parametrize("name", ["file", "file/below", "nul\0"], ids=["a-file", "below-a-file", "no-path-at-all"])
def test_a_path_that_cannot_be_a_folder_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeError, match=f"home `{tmp_path}/"):
        open_home(tmp_path / name, SystemFiles())


def test_a_read_only_place_is_named_and_left_clean(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match=f"home `{tmp_path}` cannot be used: .*Read-only file system.*--home"):
        open_home(tmp_path, ReadOnly())
    assert not (tmp_path / "home.json").exists()


def test_a_place_where_nothing_can_be_made_is_named() -> None:
    with pytest.raises(HomeError, match="home `/proc/bumble` cannot be used"):
        open_home(Path("/proc/bumble"), SystemFiles())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    open_home(tmp_path, SystemFiles())
    tmp_path.chmod(0o500)
    with pytest.raises(HomeError, match="it cannot be read and written"):
        open_home(tmp_path, SystemFiles())


def test_a_start_that_was_killed_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    (tmp_path / f".1{PART_SUFFIX}").touch()
    open_home(tmp_path, SystemFiles())
    assert names_in(tmp_path) == ["home.json", "locks"]


@pytest.mark.parametrize("name", ["Bee", "night_owl", "蜜蜂", "v1.2"])
def test_a_plain_name_is_its_own_folder(name: str) -> None:
    home = default_home(name)
    assert (home.name, home.parent.name) == (name, "bumble")


@pytest.mark.parametrize("name", ["a/b", "..", "", ".hidden", "x" * 300, "a b", "nul\0"], ids=ascii)
def test_a_name_with_other_characters_is_made_safe_and_stays_unlike_others(name: str) -> None:
    home = default_home(name)
    assert home.parent.name == "bumble"
    assert 0 < len(home.name) < 100
    assert not home.name.startswith(".")
    assert home != default_home(name + "-")
