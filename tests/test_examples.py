"""Every example runs and says what it should; the example configuration leaves no key out."""

from __future__ import annotations

import ast
import os
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from bumble_core import PluginConfig, read_settings
from bumble_core.configuration.keys import known_keys
from bumble_core.configuration.values import values_of
from bumble_core.types.settings import Settings
from tests.installed import CHECKOUT, Installed, shipped_entry_points

EXAMPLES = CHECKOUT / "examples"
ENTITY = EXAMPLES / "entity.yaml"
POINTS = shipped_entry_points()["bumble_core.plugins"]
NOT_DEFAULTS = ("home", "agent.models", "cognition.model_windows", "stages", "prefer", "plugins", "jobs")
NOT_DEFAULTS += ("gate.surfaces", "cognition.prices", "tools.rules", "tools.timeouts")

PACKAGES = sorted(path.parent.name for path in EXAMPLES.glob("*/pyproject.toml"))
SCRIPTS = {
    "replace_a_stage.py": """\
judge: polite (replaces the default; passed over: judge)
verdict: impolite
verdict: polite
It is done, thank you for waiting.
""",
    "routers.py": """\
shipped: reflex, CHAT: short (15 characters)
pirate: deliberate, GROUNDED: work (hoist), thing (sail*)
hurried: reflex, DEEP: deep (compare, comparé)
terse: terse, always terse
""",
    "own_job.py": "- When does the shop open?\nsuccess: 2 turns unread, threshold 1 and the list has 0 characters\n",
    "completion_gate.py": """\
Ask Tom, please. (manners, manners)
Tom knows it. (a secret, what was asked for was given)
I'm on it! (the gate is off)
""",
    "custom_tool.py": "We have 12 apples.\n",
    "compaction_phases.py": """\
pleasantries, bounds, summarise, prune
pleasantries removed some: True
[Asked so far]
""",
    "both_doors.py": """\
Good morning.
Still here,
word by word.
Good morning.
draft: 'Still here,\\n'
draft: 'word by word.'
done: 'Still here,\\nword by word.'
""",
}


def run(root: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = Installed.at(root).environment
    environment["PYTHONPATH"] += "".join(f"{os.pathsep}{EXAMPLES / package}" for package in PACKAGES)
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=90, check=False
    )


def stands(key: Sequence[str], tree: object) -> bool:
    """Tell whether `key` is written in a file; `NAME` in it is any name."""
    if not key:
        return True
    below = tree if isinstance(tree, dict) else {}
    return any(stands(key[1:], below[name]) for name in below if key[0] in (name, "NAME"))


def config_of(plugin: str) -> type[PluginConfig]:
    config: type[PluginConfig] = getattr(pkgutil.resolve_name(POINTS[plugin]), "Config", PluginConfig)
    return config


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_example_says_what_it_should(script: str, tmp_path: Path) -> None:
    done = run(tmp_path / "machine", "-W", "error", str(EXAMPLES / script), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, SCRIPTS[script], "")


def test_every_example_script_is_run() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == SCRIPTS.keys()


@pytest.mark.parametrize("package", PACKAGES)
def test_tests_of_an_example_package_pass(package: str, tmp_path: Path) -> None:
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "tmp"))
    done = run(tmp_path / "machine", *arguments, cwd=EXAMPLES / package)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


@pytest.mark.parametrize("key", sorted(".".join(key) for key, _ in known_keys()))
def test_example_configuration_has_the_key(key: str) -> None:
    assert stands(key.split("."), yaml.safe_load(ENTITY.read_text(encoding="utf-8")))


def test_example_configuration_has_every_key_of_the_shipped_plugins() -> None:
    sections = read_settings(ENTITY).plugins.sections
    keys = [(name, key) for name in POINTS for key in config_of(name).model_fields]
    assert [f"plugins.{name}.{key}" for name, key in keys if key not in sections.get(name, {})] == []


def test_example_configuration_shows_the_defaults() -> None:
    defaults = dict(values_of(Settings()))
    shown = {".".join(key): value for key, value in values_of(read_settings(ENTITY)) if defaults.get(key) != value}
    assert [key for key in shown if not key.startswith(NOT_DEFAULTS)] == []


def test_example_configuration_assembles(tmp_path: Path) -> None:
    done = Installed.at(tmp_path).bumble("stages", "--strict", "--config", str(ENTITY))
    assert (done.status, done.err) == (0, "")
    assert "configured with stages.router" in done.out


def test_a_job_with_a_condition_of_its_own_is_twenty_lines() -> None:
    tree = ast.parse((EXAMPLES / "own_job.py").read_text())
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    lines = {each.name: sum(map(bool, map(str.strip, ast.unparse(each).splitlines()))) for each in classes}
    assert (lines.keys(), sum(lines.values()) <= 20) == ({"ShorterThan", "Questions", "QuestionsPlugin"}, True)


def test_a_router_is_tuned_wrapped_and_replaced_in_ten_lines_each() -> None:
    tree = ast.parse((EXAMPLES / "routers.py").read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    lines = {each.name: sum(map(bool, map(str.strip, ast.unparse(each).splitlines()))) for each in classes}
    assert (lines.keys(), max(lines.values()) <= 10) == ({"PirateWords", "Hurried", "Terse"}, True)
