"""`bumble stages`: who fills each slot, and why."""

from __future__ import annotations

import click

from .assembled import assembled
from .options import Common, common_options
from .output import print_rows

_COLUMNS = ("stage", "plugin", "reason", "passed_over", "wrapped_by")


@click.command()
@common_options("config", "home", "strict", "json")
def stages(common: Common) -> None:
    """Show who fills each stage, and why.

    Also who was passed over, and who wraps it.
    """
    rows = [
        (choice.stage, choice.plugin, choice.reason, choice.passed_over, choice.wrapped_by)
        for choice in assembled(common, run_jobs=False).stages_chosen
    ]
    print_rows(_COLUMNS, rows, as_json=common.as_json)
