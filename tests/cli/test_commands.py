"""The shipped commands are what the table in `bumble --help` says."""

from __future__ import annotations

import pkgutil

import click
import pytest

from bumble_core.cli.table import COMMAND_GROUP, SHIPPED
from tests.installed import shipped_entry_points


def test_every_command_of_the_table_is_an_entry_point() -> None:
    assert set(shipped_entry_points()[COMMAND_GROUP]) == set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_summary_is_that_of_the_commands_own_help(name: str) -> None:
    command = pkgutil.resolve_name(shipped_entry_points()[COMMAND_GROUP][name])
    assert isinstance(command, click.Command)
    assert (command.help or "").splitlines()[0] == SHIPPED[name]
