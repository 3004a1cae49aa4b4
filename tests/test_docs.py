"""Every command and every code block of the README and the documentation runs.

The blocks of a page run in order, in one folder. What a block is, its first line says: `bash` is run; `python` is run
as a program; `yaml` is checked as a configuration; a block with `title=FILE` is written to that file instead, for the
blocks after it; `text` and the `py` of the generated reference are to read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from bumble_local import pull

from bumble_core import read_settings
from tests.installed import CHECKOUT, Installed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

_FENCE = re.compile(r"^```(?P<language>\w*)(?: title=(?P<title>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?P<target>[^)#:]*)(?:#(?P<heading>[^)]*))?\)")
_TEST_COMMAND = "python3 -m venv .ci/env && .ci/env/bin/pip install tox && .ci/env/bin/tox"
_TO_READ = ("text", "py")
_GENERATED = ("hooks.md", "commands.md", "settings.md", "levels.md", "routing.md")
_NOT_COPIED = (
    ".git",
    ".tox",
    ".venv",
    "env",
    "__pycache__",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "*.egg-info",
)

PAGES = {
    str(path.relative_to(CHECKOUT)): path
    for path in (*CHECKOUT.glob("*.md"), *(CHECKOUT / "docs").rglob("*.md"), *CHECKOUT.glob("examples/**/*.md"))
}
IN_CHECKOUT = ("README.md", "docs/tutorial.md", "CONTRIBUTING.md")


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is where its text begins."""

    language: str
    title: str
    text: str
    line: int


def blocks(page: str) -> tuple[Block, ...]:
    words = PAGES[page].read_text(encoding="utf-8")
    return tuple(
        Block(found["language"], found["title"] or "", found["text"], words[: found.start("text")].count("\n") + 1)
        for found in _FENCE.finditer(words)
    )


@dataclass(frozen=True)
class Reader:
    """Somebody who follows a page in `folder`."""

    folder: Path
    environment: Mapping[str, str]
    python: str

    def follow(self, page: str) -> list[str]:
        """Run the blocks of a page and return what each command printed."""
        return [self._do(block, f"{page}:{block.line}") for block in blocks(page)]

    def _do(self, block: Block, where: str) -> str:
        if block.title:
            target = self.folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
            return ""
        if block.language == "yaml":
            named = self.folder / "block.yaml"
            named.write_text(block.text, encoding="utf-8")
            read_settings(named)
            named.unlink()
            return ""
        if block.text.strip() == _TEST_COMMAND or block.language in _TO_READ:
            return ""
        programs = {"bash": ["bash", "-euo", "pipefail", "-c"], "python": [self.python, "-W", "error", "-c"]}
        assert block.language in programs, f"{where}: nothing runs a block of `{block.language}`"
        done = subprocess.run(
            [*programs[block.language], block.text],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{where} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def visitor(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Somebody with a fresh checkout, an empty home, and nothing but what the page has them install."""
    root = tmp_path_factory.mktemp("visitor")
    shutil.copytree(CHECKOUT, root / "checkout", ignore=shutil.ignore_patterns(*_NOT_COPIED))
    (root / "home").mkdir()
    ours = ("PYTHON", "BUMBLE", "OPENAI", "OLLAMA", "XDG", "VIRTUAL_ENV", "TOX", "COV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True)
    own = {"HOME": str(root / "home"), "PIP_CACHE_DIR": cache.stdout.strip()}
    return Reader(root / "checkout", {**kept, **own}, str(root / "checkout" / ".venv" / "bin" / "python"))


@pytest.fixture
def user(tmp_path: Path) -> Reader:
    """Somebody who has `bumble` with everything, and the small model."""
    installed = Installed.at(tmp_path / "machine")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bumble").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bumble_core "$@"\n')
    (programs / "bumble").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = {**installed.environment, "PATH": path, "BUMBLE_MODELS": str(pull("smollm2").parent)}
    return Reader(installed.work, environment, sys.executable)


def test_readme_sets_up_and_answers_and_the_tutorial_goes_on_from_there(visitor: Reader) -> None:
    answer, *_ = visitor.follow("README.md")
    assert answer.strip().splitlines()[-1]
    visitor.follow("docs/tutorial.md")


def test_contributing_sets_up(visitor: Reader) -> None:
    outputs = visitor.follow("CONTRIBUTING.md")
    assert " passed" in outputs[1]


@pytest.mark.parametrize("page", sorted(page for page in PAGES if page not in IN_CHECKOUT and blocks(page)))
def test_page_works(page: str, user: Reader) -> None:
    if PAGES[page].name in _GENERATED:
        assert {block.language for block in blocks(page)} <= set(_TO_READ)
    else:
        assert "py" not in {block.language for block in blocks(page)}
        user.follow(page)


def test_test_command_is_the_one_that_the_checks_run() -> None:
    assert _TEST_COMMAND in [block.text.strip() for block in blocks("README.md")]
    script = (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8")
    assert f"    {_TEST_COMMAND}\n" in script


@pytest.mark.parametrize("page", sorted(PAGES))
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    here = PAGES[page]
    for link in _LINK.finditer(_FENCE.sub("", here.read_text(encoding="utf-8"))):
        target = (here.parent / link["target"]).resolve() if link["target"] else here
        assert target.exists(), f"{page}: {link['target']}"
        if link["heading"] and target.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert link["heading"] in [_anchor(heading) for heading in headings], f"{page}: {link.group()}"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
