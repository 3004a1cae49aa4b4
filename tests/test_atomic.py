"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import asyncio
import stat
from datetime import UTC
from pathlib import Path

import pytest

from bumble_core.atomic import PART_SUFFIX, sweep, write_atomically
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.ports import Clock, Files
from tests.builtin.storage_support import FullDisk

FAILURES = [("open", 0), ("write", 0), ("write", 3), ("fsync", 0), ("replace", 0)]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_machine_fills_both_ports() -> None:
    assert isinstance(SystemClock(), Clock)
    assert isinstance(SystemFiles(), Files)


def test_the_clock_is_in_utc_and_its_sleep_is_measured_by_monotonic() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    asyncio.run(clock.sleep(0.01))
    assert clock.now().tzinfo is UTC
    assert clock.monotonic() - before >= 0.009


def test_a_new_file_and_a_replaced_one_hold_the_bytes(tmp_path: Path) -> None:
    for data in (b"one", b"", b"three\r\n"):
        write_atomically(SystemFiles(), tmp_path / "file", data)
        assert (tmp_path / "file").read_bytes() == data
    assert names_in(tmp_path) == ["file"]


def test_a_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "file").touch(mode=0o640)
    (tmp_path / "file").chmod(0o640)
    write_atomically(SystemFiles(), tmp_path / "file", b"new")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.parametrize(("operation", "after"), FAILURES)
@pytest.mark.parametrize("existed", [True, False], ids=["replaced", "new"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, operation: str, after: int, existed: bool) -> None:
    if existed:
        (tmp_path / "file").write_bytes(b"old bytes")
    with pytest.raises(OSError, match="No space left"):
        write_atomically(FullDisk(operation, after), tmp_path / "file", b"new bytes")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({"file": b"old bytes"} if existed else {})


def test_appending_and_exclusive_creation_are_what_they_say(tmp_path: Path) -> None:
    files, path = SystemFiles(), tmp_path / "log"
    for data in (b"one", b"two"):
        with files.open(path, "ab") as handle:
            files.write(handle, data)
            files.fsync(handle)
    assert path.read_bytes() == b"onetwo"
    with pytest.raises(FileExistsError):
        files.open(path, "xb")


def test_leftovers_of_killed_writes_are_swept_and_nothing_else(tmp_path: Path) -> None:
    names = [f".3f{PART_SUFFIX}", f"deep/.4a{PART_SUFFIX}", f"left/.5b{PART_SUFFIX}", f"mine{PART_SUFFIX}", ".hidden"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    swept = sweep(SystemFiles(), tmp_path, lambda folder: folder.name != "left")
    assert sorted(path.relative_to(tmp_path).as_posix() for path in swept) == names[:2]
    assert [name for name in names if (tmp_path / name).exists()] == names[2:]
