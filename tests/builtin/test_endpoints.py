"""What was learnt about models survives, and a broken file does no harm."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Literal

import pytest

from bumble_core.builtin.endpoints import Endpoint, EndpointMemory, LearntLevel
from bumble_core.builtin.system import SystemClock, SystemFiles

LEVEL = LearntLevel(level="schema", reason="it is so", at=datetime(2026, 3, 1, tzinfo=UTC))


class FullDisk(SystemFiles):
    def open(self, path: Path, mode: Literal["rb", "xb", "ab"]) -> BinaryIO:
        if mode == "xb":
            raise OSError(28, "No space left on device")
        return super().open(path, mode)


def memory(home: Path, files: SystemFiles | None = None) -> EndpointMemory:
    return EndpointMemory(home, files or SystemFiles(), SystemClock())


async def test_nothing_is_known_and_nothing_written_at_first(tmp_path: Path) -> None:
    assert await memory(tmp_path).of("a m") == Endpoint()
    assert list(tmp_path.iterdir()) == []


async def test_what_is_kept_is_there_for_the_next_process(tmp_path: Path) -> None:
    await memory(tmp_path).keep("a m", level=LEVEL)
    await memory(tmp_path).keep("a m", listed_window=4096)
    assert await memory(tmp_path).of("a m") == Endpoint(level=LEVEL, listed_window=4096)


async def test_two_processes_do_not_undo_each_other(tmp_path: Path) -> None:
    one, other = memory(tmp_path), memory(tmp_path)
    await one.of("a m")
    await other.keep("b m", overflow_window=2048)
    await one.keep("a m", level=LEVEL)
    assert (await memory(tmp_path).of("b m")).overflow_window == 2048
    assert (await one.of("b m")).overflow_window == 2048


async def test_many_changes_at_once_are_all_kept(tmp_path: Path) -> None:
    shared = memory(tmp_path)
    await asyncio.gather(*(shared.keep(f"{n} m", listed_window=1000 + n) for n in range(10)))
    known = memory(tmp_path)
    assert [(await known.of(f"{n} m")).listed_window for n in range(10)] == [1000 + n for n in range(10)]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"models": {"a m": {"level": "best"}}}', b'{"models": {}, "newer": 1}', b"\xff\xfe"],
    ids=["empty", "half", "list", "wrong-value", "newer", "binary"],
)
async def test_a_damaged_file_is_kept_aside_and_learnt_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "endpoints.json").write_bytes(content)
    known = memory(tmp_path)
    assert await known.of("a m") == Endpoint()
    await known.keep("a m", level=LEVEL)
    assert (await memory(tmp_path).of("a m")).level == LEVEL
    assert (tmp_path / "endpoints.unreadable.json").read_bytes() == content


async def test_a_full_disk_keeps_it_for_this_process_only(tmp_path: Path) -> None:
    known = memory(tmp_path, FullDisk())
    await known.keep("a m", level=LEVEL)
    assert (await known.of("a m")).level == LEVEL
    assert not (tmp_path / "endpoints.json").exists()


async def test_what_is_known_already_is_not_written_again(tmp_path: Path) -> None:
    known = memory(tmp_path)
    await known.keep("a m", level=LEVEL)
    (tmp_path / "endpoints.json").unlink()
    await known.keep("a m", level=LEVEL)
    assert not (tmp_path / "endpoints.json").exists()
