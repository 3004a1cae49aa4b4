"""What the repository promises of itself: whole types, every plugin in the wheel, one command for the tests."""

from __future__ import annotations

import configparser
import re
import subprocess
import tomllib

import pytest

from tests.installed import CHECKOUT

PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
PLUGINS = sorted(path.name for path in (CHECKOUT / "plugins").glob("bumble_*"))
FOLDERS = ("bumble_core", "plugins", "examples", "docs", "benchmarks")
CODE = [path for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*.py*") if path.suffix in {".py", ".pyi"}]


def test_no_type_is_ignored() -> None:
    assert [str(path) for path in CODE if re.search(r"#\s*type:\s*ignore", path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("package", ["bumble_core", *(f"plugins/{name}" for name in PLUGINS)])
def test_package_is_typed_and_in_the_wheel(package: str) -> None:
    assert (CHECKOUT / package / "py.typed").is_file()
    assert package in PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_plugin_has_an_entry_point(plugin: str) -> None:
    points = PYPROJECT["project"]["entry-points"]["bumble_core.plugins"]
    assert points[plugin.removeprefix("bumble_")].startswith(f"{plugin}:")


def test_plain_tox_runs_everything_but_the_deep_tests() -> None:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(CHECKOUT / "tox.ini")
    wanted = [name.strip() for name in tox["tox"]["env_list"].split(",")]
    assert wanted == ["py311", "py312", "py313", "types", "style", "docs"]
    assert "testenv:deep" in tox


def test_dependencies_are_explained_with_their_lower_bounds() -> None:
    page = (CHECKOUT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    extras = PYPROJECT["project"]["optional-dependencies"]
    brought = [line for name in ("openai", "ollama", "local", "fast") for line in extras[name]]
    bounds = [line.split(">=") for line in (*PYPROJECT["project"]["dependencies"], *brought)]
    assert [name for name, bound in bounds if not re.search(rf"`{name}`( \|| from) {re.escape(bound)}\b", page)] == []


def test_changelog_keeps_its_form() -> None:
    text = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {"Added", "Changed", "Removed", "Fixed", "Security"}


def test_check_script_can_be_run() -> None:
    assert (CHECKOUT / ".ci" / "run").stat().st_mode & 0o111
    assert subprocess.run(["bash", "-n", CHECKOUT / ".ci" / "run"], check=False).returncode == 0
