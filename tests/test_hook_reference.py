"""No hook without its page, its test and a shipped plugin that uses it; no page that is out of date."""

from __future__ import annotations

import ast

import pytest

from tests.pages import REFERENCE, ROOT, generator

PAGES = generator().PAGES
HOOKS = generator().hook_names()


@pytest.mark.parametrize("page", sorted(PAGES))
def test_generated_page_is_current(page: str) -> None:
    written = (REFERENCE / page).read_text(encoding="utf-8")
    assert written == PAGES[page](), "run: python docs/generate.py"


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_described(hook: str) -> None:
    page = (REFERENCE / "hooks.md").read_text(encoding="utf-8")
    assert f"\n## {hook}\n" in page


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_has_a_test_named_after_it(hook: str) -> None:
    tree = ast.parse((ROOT / "tests" / "test_hooks.py").read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert [name for name in functions if name.startswith(f"test_{hook}_")] != []


@pytest.mark.parametrize("hook", HOOKS)
def test_shipped_plugin_implements_the_hook(hook: str) -> None:
    assert hook in generator().implementations()


def test_hook_specifications_are_what_the_kernel_registers() -> None:
    source = (ROOT / "bumble_core" / "hookspecs.py").read_text(encoding="utf-8")
    assert len(HOOKS) == source.count("\n@_collect\n") + source.count("\n@_slot\n")
