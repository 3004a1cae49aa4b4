"""No hook without its page, its test and a shipped plugin that uses it; no page that is out of date."""

from __future__ import annotations

import ast

import pytest

from tests.installed import CHECKOUT
from tests.pages import DOCS, generator

HOOKS_PAGE = generator("hooks_page")
HOOKS = HOOKS_PAGE.hook_names()


def test_hook_reference_is_current() -> None:
    written = (DOCS / "reference" / "hooks.md").read_text(encoding="utf-8")
    assert written == HOOKS_PAGE.hooks_page(), "run: python docs/generate.py"


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_is_described(hook: str) -> None:
    page = (DOCS / "reference" / "hooks.md").read_text(encoding="utf-8")
    assert f"\n## {hook}\n" in page


@pytest.mark.parametrize("hook", HOOKS)
def test_hook_has_a_test_named_after_it(hook: str) -> None:
    tree = ast.parse((CHECKOUT / "tests" / "test_hooks.py").read_text(encoding="utf-8"))
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert [name for name in functions if name.startswith(f"test_{hook}_")] != []


@pytest.mark.parametrize("hook", HOOKS)
def test_shipped_plugin_implements_the_hook(hook: str) -> None:
    assert hook in HOOKS_PAGE.implementations()


def test_hook_specifications_are_what_the_kernel_registers() -> None:
    source = (CHECKOUT / "bumble_core" / "hookspecs.py").read_text(encoding="utf-8")
    assert len(HOOKS) == source.count("\n@_collect\n") + source.count("\n@_slot\n")
