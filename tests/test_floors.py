"""Imports go down, never up or sideways, and never hide inside a function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
KERNEL = ROOT / "bumble_core"
FLOORS = [
    {
        "errors",
        "types",
        "deferred",
        "patience",
        "threads",
        "framing",
        "circles",
        "secrecy",
        "printable",
        "steering",
        "text_tokens",
        "window_share",
        "locking",
    }
    | {"regular"},
    {"ports", "servers", "signatures", "misfits", "memo", "contract", "entity_folder", "command_lines"}
    | {"consent", "outputs", "account", "nudge", "merging", "languages"}
    | {"compaction"},
    {"closing"},
    {"failures", "hookspecs", "history", "cutting", "metering", "asking", "delivery"}
    | {"broadcast", "watching", "journal", "judging", "atomic", "approvals", "routing"},
    {"chat", "tools", "tool_calls", "slots", "prompt", "discovery"},
    {"http", "acting", "room", "forcing", "written_calls", "plugins", "configuration", "sync_door", "turn_handle"},
    {"thinking"},
    {"loop", "jobs", "builtin"},
    {"home", "parts"},
    {"turn_run", "compacting"},
    {"runtime"},
    {"wiring"},
    {"assembly"},
    {"cli", "testing"},
    {"", "__main__"},
]
FLOOR_OF = {name: floor for floor, names in enumerate(FLOORS) for name in names}
MODULES = sorted(KERNEL.rglob("*.py"))
PLUGINS = sorted((ROOT / "plugins").rglob("*.py"))
MAY_HIDE_IMPORTS = {f"bumble_core/{name}.py" for name in ("deferred", "__init__", "cli/__init__", "cli/table")}
PUBLIC = {"bumble_core"} | {
    f"bumble_core.{n}" for n in ("ports", "types", "errors", "languages", "chat", "http", "testing")
}


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _unit(path: Path) -> str:
    first = path.relative_to(KERNEL).with_suffix("").parts[0]
    return "" if first == "__init__" else first


def _imported_units(path: Path) -> list[str]:
    depth = len(path.relative_to(KERNEL).parts)
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            found += [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("bumble_core"):
            found += [(node.module or "").split(".")[1]] if "." in (node.module or "") else [""]
    return found


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_module_imports_only_lower_floors(path: Path) -> None:
    own = FLOOR_OF[_unit(path)]
    assert [n for n in _imported_units(path) if n != _unit(path) and FLOOR_OF[n] >= own] == []


@pytest.mark.parametrize("path", [*MODULES, *PLUGINS], ids=_name)
def test_no_import_hides_inside_a_function_or_a_condition(path: Path) -> None:
    hidden = [
        inner.lineno
        for outer in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.If)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert hidden == []


@pytest.mark.parametrize("path", [*MODULES, *PLUGINS], ids=_name)
def test_only_named_modules_import_by_name(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    by_name = "import_module" in text or "resolve_name" in text or "__import__" in text
    assert not by_name or _name(path) in MAY_HIDE_IMPORTS


@pytest.mark.parametrize("path", [*MODULES, *PLUGINS], ids=_name)
def test_module_stays_small(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= 250


@pytest.mark.parametrize("path", PLUGINS, ids=_name)
def test_plugin_imports_only_public_parts(path: Path) -> None:
    nodes = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.ImportFrom)]
    kernel = [n.module or "" for n in nodes if n.level == 0 and (n.module or "").split(".")[0] == "bumble_core"]
    assert [m for m in kernel if ".".join(m.split(".")[:2]) not in PUBLIC] == []


@pytest.mark.parametrize("path", MODULES, ids=_name)
def test_kernel_imports_no_plugin(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    plugins = [folder.name for folder in (ROOT / "plugins").iterdir() if folder.is_dir()]
    assert [name for name in plugins if f"import {name}" in text or f"from {name}" in text] == []
