"""The project as others meet it: as a wheel, in an environment of their own, beside somebody's plugin."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.talker import with_owl
from tests.installed import CHECKOUT, Installed
from tests.wheelhouse import Environment, wheelhouse

__all__ = ["wheelhouse"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

IMPORT_ALL = """
import importlib, pkgutil, sys

found = [each.name for each in pkgutil.walk_packages([sys.argv[1]]) if not each.name.endswith("__main__")]
for name in found:
    print(name, importlib.import_module(name).__file__)
"""
TURN_AT = """
import sys, tempfile
from bumble_core import Settings, assemble, assistant
from bumble_core.testing import ScriptedProvider, StillClock

clock = StillClock(f"2026-06-15T{int(sys.argv[1]):02}:00:00")
with tempfile.TemporaryDirectory() as home:
    settings = Settings.model_validate({"agent": {"models": ["scripted:m"]}, "home": home})
    with assemble(settings, plugins={"scripted": ScriptedProvider([assistant("Hm.")])}, clock=clock) as runtime:
        print(runtime.answer_sync("hi").route.profile.name)
"""


@pytest.fixture
def unpacked(tmp_path: Path, wheelhouse: Path) -> Installed:
    """`bumble` as the wheel alone brings it, beside the libraries of the tests, with a plugin that answers."""
    packages = tmp_path / "packages"
    source = ("--no-deps", "--no-index", "--find-links", wheelhouse, "--target", packages)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *source, "bumble-core"], check=True, timeout=300)
    return with_owl(Installed.at(tmp_path / "machine", (packages,)))


def test_wheel_brings_every_file_and_every_module_of_it_is_imported(unpacked: Installed) -> None:
    (packages,) = unpacked.packages
    trees = [CHECKOUT / "bumble_core", *(CHECKOUT / "plugins").glob("bumble_*")]
    files = [(tree.parent, file) for tree in trees for file in tree.rglob("*") if file.is_file()]
    wanted = [file.relative_to(parent) for parent, file in files if "__pycache__" not in file.parts]
    assert [path for path in wanted if not packages.joinpath(path).is_file()] == []
    command = [sys.executable, "-c", IMPORT_ALL, str(packages)]
    done = subprocess.run(
        command, cwd=unpacked.work, env=unpacked.environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    modules = [path for path in wanted if path.suffix == ".py" and path.name != "__main__.py"]
    assert {path for _, path in rows} == {str(packages / path) for path in modules}


COMMANDS = {  # with what each says
    ("run", "say hello"): "hello",
    ("stages",): "judge",
    ("plugins",): "owl",
    ("sessions", "list"): "TITLE",
    ("jobs", "list"): "memory_flush_owed",
    ("memory", "list"): "remembers nothing",
    ("route", "what is the capital of France?"): "reflex",
    ("route", "evaluate", "--split", "dev"): "%",
    ("gate", "evaluate", "--split", "dev"): "%",
    ("config", "show"): "agent.models",
    ("models", "list"): "owl",
    ("doctor",): "home",
    ("chat", "--help"): "Usage",
    ("daemon", "--help"): "Usage",
}


def test_commands_of_the_wheel_work(unpacked: Installed) -> None:
    with ThreadPoolExecutor(max_workers=2) as at_once:
        ended = dict(zip(COMMANDS, at_once.map(lambda each: unpacked.bumble(*each), COMMANDS), strict=True))
    failed = [(arguments, each.err) for arguments, each in ended.items() if each.status]
    assert failed == []
    assert [arguments for arguments, shown in COMMANDS.items() if shown not in ended[arguments].out] == []


def profile_at(hour: int, environment: Environment) -> str:
    return environment.run("python", "-c", TURN_AT, str(hour)).strip()


def wraps_router(environment: Environment) -> list[str]:
    rows = json.loads(environment.run("bumble", "stages", "--json"))
    (names,) = (row["wrapped_by"] for row in rows if row["stage"] == "router")
    return list(names)


def digest(environment: Environment) -> str:
    """Return one hash over every file of the project as it is installed."""
    files = [path for path in environment.packages.glob("bumble_*/**/*.py") if "night_owl" not in str(path)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def test_plugin_of_a_stranger_takes_part_as_long_as_it_is_installed(tmp_path: Path, wheelhouse: Path) -> None:
    environment = Environment.at(tmp_path / "fresh", wheelhouse)
    environment.pip("install", "bumble-core")
    before = digest(environment)
    assert (wraps_router(environment), profile_at(23, environment)) == ([], "reflex")
    environment.pip("install", "bumble-night-owl")
    assert (wraps_router(environment), profile_at(23, environment)) == (["night_owl"], "deliberate")
    assert profile_at(12, environment) == "reflex"
    environment.pip("uninstall", "--yes", "bumble-night-owl")
    assert (wraps_router(environment), profile_at(23, environment)) == ([], "reflex")
    assert digest(environment) == before


def test_base_install_works_and_says_how_to_get_the_providers(tmp_path: Path, wheelhouse: Path) -> None:
    environment = Environment.at(tmp_path / "fresh", wheelhouse)
    environment.pip("install", "bumble-core")
    assert environment.run("bumble", "--version").startswith("bumble 0.")
    rows = {row["name"]: row for row in json.loads(environment.run("bumble", "plugins", "--json"))}
    remedies = {name: rows[name]["remedy"] for name in ("openai", "ollama", "local")}
    assert remedies == {name: f"pip install 'bumble-core[{name}]'" for name in remedies}
    assert {row["state"] for name, row in rows.items() if name not in remedies} == {"loaded"}
