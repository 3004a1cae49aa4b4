"""Every model that a test invents holds its requests to the laws, or says here why it need not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.installed import CHECKOUT

UNCHECKED = {
    "tests/test_absorbed.py": "fails before it reads anything",
    "tests/test_contract.py": "gives what no port allows",
    "tests/test_leaving.py": "ends the program before it reads anything",
    "tests/jobs/test_giving_way.py": "is asked by jobs and turns at once, whose requests follow on nothing",
    "tests/plugins/test_router.py": "is asked without a conversation",
    "tests/plugins/test_router_measure.py": "is asked without a conversation",
    "tests/test_isolation.py": "is never assembled whole",
    "tests/test_window.py": "is asked without a conversation",
    "tests/builtin/test_fallback.py": "is asked without a conversation",
    "tests/builtin/test_levels.py": "is asked without a conversation",
    "tests/cli/test_first_model.py": "is never asked",
    "tests/cli/talker.py": "runs in a process of its own, where the checker would be imported each time",
    "tests/http/test_retries.py": "passes requests on to a stub server, which checks them",
    "tests/testing/test_contract.py": "is a wrong provider on purpose",
    "benchmarks/prompt_cache.py": "passes requests on to a server",
}

_OF_A_PROVIDER = 3  # self, request, model


def models() -> Iterator[tuple[str, str, str]]:
    """Yield file, name and source of each provider that writes its replies itself."""
    for file in sorted([*CHECKOUT.glob("tests/**/*.py"), *CHECKOUT.glob("benchmarks/*.py")]):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "def stream(self" in text else ():
            if isinstance(node, ast.ClassDef) and any(_streams(each) for each in node.body):
                yield str(file.relative_to(CHECKOUT)), node.name, ast.get_source_segment(text, node) or ""


def _streams(node: ast.stmt) -> bool:
    return isinstance(node, ast.AsyncFunctionDef) and node.name == "stream" and len(node.args.args) == _OF_A_PROVIDER


@pytest.mark.parametrize(("file", "source"), [(file, text) for file, _, text in models()], ids=[m[1] for m in models()])
def test_a_model_of_a_test_checks_what_it_is_asked(file: str, source: str) -> None:
    assert "check(" in source or file in UNCHECKED
