"""The project as others meet it: as a wheel, in an environment of their own, beside somebody's plugin."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.wheelhouse import Environment, wheelhouse

__all__ = ["wheelhouse"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

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
