"""A setting that nothing reads would be a promise that nobody keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from bumble_core.configuration.keys import known_keys
from tests.installed import CHECKOUT

NAMES = sorted({key[-1] if key[-1] != "NAME" else key[-2] for key, _ in known_keys()} - {"plugins"} | {"sections"})
STAGES = {key[1] for key, _ in known_keys() if key[0] == "stages"}  # read together, by the name of their slot


def sources() -> Iterator[Path]:
    """Everything that may read settings: the kernel but for what defines and prints them, and the plugins."""
    for file in [*CHECKOUT.glob("bumble_core/**/*.py"), *CHECKOUT.glob("plugins/**/*.py")]:
        if file.name != "settings.py" and "configuration" not in file.parts:
            yield file


@pytest.fixture(scope="module")
def attributes() -> frozenset[str]:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in sources()]
    return frozenset(node.attr for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in STAGES])
def test_a_setting_is_read_somewhere(name: str, attributes: frozenset[str]) -> None:
    assert name in attributes


def test_the_stages_are_read_together(attributes: frozenset[str]) -> None:
    assert "stages" in attributes
