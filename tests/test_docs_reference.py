"""The reference pages say what the code says."""

from __future__ import annotations

import re

import pytest

from bumble_core.cli import exit_codes
from tests.installed import CHECKOUT
from tests.pages import generator

PAGES = generator().PAGES
HOW_TO = CHECKOUT / "docs" / "how-to"


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_current(page: str) -> None:
    assert CHECKOUT.joinpath("docs", page).read_text(encoding="utf-8") == PAGES[page]()


def test_every_exit_code_is_documented() -> None:
    text = CHECKOUT.joinpath("docs", "reference", "exit-codes.md").read_text(encoding="utf-8")
    documented = {int(status) for status in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert documented == {value for name, value in vars(exit_codes).items() if name.isupper()}


def test_every_page_is_in_the_table_of_contents() -> None:
    docs = CHECKOUT / "docs"
    listed = set(re.findall(r"\]\(([^)#]+\.md)\)", docs.joinpath("README.md").read_text(encoding="utf-8")))
    assert listed == {str(page.relative_to(docs)) for page in docs.rglob("*.md")} - {"README.md"}


@pytest.mark.parametrize("page", ["README.md", *sorted(f"docs/how-to/{p.name}" for p in HOW_TO.glob("*.md"))])
def test_no_example_writes_into_the_home_of_who_tries_it(page: str) -> None:
    text = CHECKOUT.joinpath(page).read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [program for program in programs if "assemble(settings" in program and "home=" not in program] == []
