"""Run `bumble` from the checkout as if it were installed, in a home of its own.

Entry points exist only for installed distributions, so a folder with the metadata of one is put on the path.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.depth import IS_DEEP
from tests.warm import WarmProcess

CHECKOUT = Path(__file__).parent.parent
_IN_THE_CHECKOUT = (CHECKOUT, CHECKOUT / "plugins")
_WARM = WarmProcess()
_KEPT = ("PATH", "SYSTEMROOT", "TMPDIR", "LD_LIBRARY_PATH")


def write_distribution(
    folder: Path, name: str, version: str, groups: Mapping[str, Mapping[str, str]], requires: Sequence[str] = ()
) -> None:
    """Write the metadata of an installed distribution with these entry points into `folder`."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *_assignments(points))]
    info.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n")


@cache
def shipped_entry_points() -> Mapping[str, Mapping[str, str]]:
    """Return the entry points that `pyproject.toml` declares, by group."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    groups: Mapping[str, Mapping[str, str]] = project["entry-points"]
    return groups


@dataclass(frozen=True)
class Installed:
    """A machine's view of `bumble`: `site` is where distributions are, `work` the working directory.

    `packages` is where the project's own modules are: in the checkout, or where a wheel of it was unpacked.
    """

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    packages: tuple[Path, ...] = _IN_THE_CHECKOUT

    @classmethod
    def at(cls, root: Path, packages: tuple[Path, ...] = _IN_THE_CHECKOUT) -> Installed:
        installed = cls(root, packages=packages)
        for folder in (installed.site, installed.user, installed.work):
            folder.mkdir(parents=True)
        if packages == _IN_THE_CHECKOUT:  # a wheel brings its own
            write_distribution(installed.site, "bumble-core", "0.1.0", shipped_entry_points())
        return installed

    @property
    def site(self) -> Path:
        return self.root / "site"

    @property
    def user(self) -> Path:
        return self.root / "user"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def environment(self) -> dict[str, str]:
        """Only what a process needs: no key, no setting and no folder of whoever runs the tests."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = os.pathsep.join(str(folder) for folder in (self.site, *self.packages))
        own = {"PYTHONPATH": path, "HOME": str(self.user), "PYTHONDONTWRITEBYTECODE": "", "LANG": "C.UTF-8"}
        return {**kept, **own, **self.variables}

    def add(
        self,
        name: str,
        version: str,
        groups: Mapping[str, Mapping[str, str]],
        *,
        requires: Sequence[str] = (),
        **modules: str,
    ) -> None:
        """Install a distribution with these entry points and these modules, given as source text."""
        write_distribution(self.site, name, version, groups, requires)
        for module, source in modules.items():
            self.site.joinpath(f"{module}.py").write_text(source)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "bumble_core", *arguments]

    def bumble(self, *arguments: str, input: str = "", **variables: str) -> Ended:
        """Run `bumble` to its end in `work`, a minute at most; `variables` are added to the environment.

        It is forked from a warm process, but in a deep run, or where Python itself is to start differently.
        """
        environment = {**self.environment, **variables}
        starts_alike = not any(name.startswith(("PYTHON", "LC_")) for name in {**self.variables, **variables})
        if IS_DEEP or not starts_alike or self.packages != _IN_THE_CHECKOUT:
            done = subprocess.run(
                self.command(*arguments),
                cwd=self.work,
                env=environment,
                input=input.encode(),
                capture_output=True,
                timeout=60,
                check=False,
            )
            return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
        status, out, err = _WARM.run(arguments, self.work, environment, input.encode(), timeout_s=60)
        return Ended(status, out.decode(), err.decode())


@dataclass(frozen=True)
class Ended:
    """How a process ended and what it printed."""

    status: int
    out: str
    err: str


def _assignments(points: Mapping[str, str]) -> list[str]:
    return [f"{name} = {target}" for name, target in points.items()]
