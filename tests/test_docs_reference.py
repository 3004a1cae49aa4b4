"""The reference pages say what the code says."""

from __future__ import annotations

import re

import pytest

from bumble_core.cli import exit_codes
from tests.installed import CHECKOUT
from tests.pages import generator

PAGES = generator().PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_current(page: str) -> None:
    assert CHECKOUT.joinpath("docs", page).read_text(encoding="utf-8") == PAGES[page]()


def test_every_exit_code_is_documented() -> None:
    text = CHECKOUT.joinpath("docs", "reference", "exit-codes.md").read_text(encoding="utf-8")
    documented = {int(status) for status in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert documented == {value for name, value in vars(exit_codes).items() if name.isupper()}
