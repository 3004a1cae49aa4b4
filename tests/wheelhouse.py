"""Fresh environments, filled from one folder of wheels that is made once per run of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.installed import CHECKOUT

NIGHT_OWL = CHECKOUT / "examples" / "night_owl"
_BUILDS = ("-m", "pip", "wheel", "--quiet", "--no-build-isolation")
_NOT_OURS = ("PYTHON", "BUMBLE", "OPENAI", "OLLAMA", "XDG")


@dataclass(frozen=True)
class Environment:
    """A virtual environment of its own, with a home of its own; nothing of the checkout is on its path."""

    root: Path
    wheels: Path

    @classmethod
    def at(cls, root: Path, wheels: Path) -> Environment:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / "venv"], check=True)
        (root / "work").mkdir()
        return cls(root, wheels)

    @property
    def packages(self) -> Path:
        (folder,) = (self.root / "venv").glob("lib/python*/site-packages")
        return folder

    def pip(self, *arguments: str) -> None:
        """Run the pip of the tests for this environment, with the wheels alone."""
        source = ("--no-index", "--find-links", str(self.wheels)) if arguments[0] == "install" else ()
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(self.root / "venv" / "bin" / "python")]
        subprocess.run([*pip, arguments[0], *source, *arguments[1:]], check=True, timeout=300)

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of this environment in its working folder and return what it printed."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_OURS)}
        done = subprocess.run(
            [self.root / "venv" / "bin" / program, *arguments],
            cwd=self.root / "work",
            env={**variables, "HOME": str(self.root)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project's wheel and fetch those of its base dependencies, as pip is set up on this machine."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    subprocess.run([sys.executable, *_BUILDS, "--wheel-dir", folder, CHECKOUT], check=True, timeout=600)
    command = [sys.executable, *_BUILDS, "--wheel-dir", folder, "--find-links", folder, NIGHT_OWL]
    subprocess.run(command, check=True, timeout=600)
    return folder
