"""Find the configuration file: the first of several places that has one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs

from ..errors import ConfigError

FILE_NAME = "bumble.yaml"
_APPLICATION = "bumble"

Rule = Literal["--config", "BUMBLE_CONFIG", "working directory", "user"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the process sees around it: everything that decides which settings hold, besides arguments."""

    environment: Mapping[str, str]
    working_directory: Path
    user_folder: Path
    data_folder: Path

    @classmethod
    def of_process(cls) -> Surroundings:
        """Return what this process sees.

        Raises:
            ConfigError: the working directory is gone.
        """
        try:
            here = Path.cwd()
        except OSError as error:
            raise ConfigError(f"the working directory cannot be found: {error.strerror}; change to another") from error
        return cls(
            environment=os.environ,
            working_directory=here,
            user_folder=platformdirs.user_config_path(_APPLICATION),
            data_folder=platformdirs.user_data_path(_APPLICATION),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Which file was found by which rule, and every place that was looked at, in order."""

    path: Path | None = None
    rule: Rule | None = None
    looked_at: tuple[tuple[Rule, Path], ...] = ()

    @property
    def may_be_foreign(self) -> bool:
        """Whether the file may have come with somebody's repository rather than from the user."""
        return self.rule == "working directory"


def locate(named: Path | None, surroundings: Surroundings) -> Located:
    """Find the file. One that is named must exist; a broken link or a folder of that name counts as a file.

    Raises:
        ConfigError: the named file does not exist.
    """
    looked_at: list[tuple[Rule, Path]] = []
    for rule, path in _places(named, surroundings):
        looked_at.append((rule, path))
        if os.path.lexists(path):
            found = "user" if _is_inside(path, surroundings.user_folder) and rule == "working directory" else rule
            return Located(path=path, rule=found, looked_at=tuple(looked_at))
        if rule in {"--config", "BUMBLE_CONFIG"}:
            raise ConfigError(f"{path}: no such file, named by {rule}")
    return Located(looked_at=tuple(looked_at))


def expanded(path: Path) -> Path:
    """Put the user's folder in the place of `~`; a name that is no user's stays as it is, as in a shell."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def user_file(surroundings: Surroundings) -> Path:
    return surroundings.user_folder / FILE_NAME


def _places(named: Path | None, surroundings: Surroundings) -> Iterator[tuple[Rule, Path]]:
    here = surroundings.working_directory
    if named is not None:
        yield "--config", here / expanded(named)
    variable = surroundings.environment.get("BUMBLE_CONFIG", "")
    if variable and named is None:
        yield "BUMBLE_CONFIG", here / expanded(Path(variable))
    for folder in (here, *here.parents):
        yield "working directory", folder / FILE_NAME
    yield "user", user_file(surroundings)


def _is_inside(path: Path, folder: Path) -> bool:
    return path.parent.resolve().is_relative_to(folder.resolve())
