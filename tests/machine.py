"""A machine of folders for tests of the configuration: where somebody works, and what they keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bumble_core.configuration import FILE_NAME, Configuration, Surroundings, Trust, resolve


@dataclass(frozen=True)
class Machine:
    """`work` is the working directory, `user` holds the user's own file, `data` what the user decided."""

    root: Path

    @property
    def work(self) -> Path:
        return self.root / "projects" / "nest" / "work"

    @property
    def user(self) -> Path:
        return self.root / "user"

    def write(self, folder: Path, text: str) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        folder.joinpath(FILE_NAME).write_text(text, encoding="utf-8")
        return folder / FILE_NAME

    def surroundings(self, environment: Mapping[str, str] | None = None) -> Surroundings:
        self.work.mkdir(parents=True, exist_ok=True)
        return Surroundings(
            environment=environment or {},
            working_directory=self.work,
            user_folder=self.user,
            data_folder=self.root / "data",
        )

    @property
    def trust(self) -> Trust:
        return Trust.among(self.root / "data")

    def resolve(
        self,
        named: Path | None = None,
        environment: Mapping[str, str] | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> Configuration:
        return resolve(named, overrides=overrides or {}, surroundings=self.surroundings(environment))
