"""The door of the package: what `import bumble_core` offers and what type checkers read."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import bumble_core

STUB = Path(bumble_core.__file__).with_suffix(".pyi")


def test_stub_names_what_the_package_offers() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    names = {alias.asname or alias.name for n in tree.body if isinstance(n, ast.ImportFrom) for alias in n.names}
    assert names == set(bumble_core.__all__)


def test_every_public_name_can_be_had() -> None:
    assert [name for name in bumble_core.__all__ if getattr(bumble_core, name, None) is None] == []


def test_import_brings_no_heavy_library() -> None:
    heavy = ["httpx", "croniter", "rich", "xllamacpp", "jsonschema_rs", "sqlite3", "pydantic", "pluggy"]
    code = f"import sys, bumble_core; print([m for m in {heavy!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
