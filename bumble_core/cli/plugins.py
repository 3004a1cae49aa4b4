"""`bumble plugins`: what became of each plugin."""

from __future__ import annotations

import click

from .assembled import assembled
from .options import Common, common_options
from .output import print_rows

_COLUMNS = ("name", "version", "distribution", "state", "offers", "reason", "remedy")


@click.command()
@common_options("config", "home", "strict", "json")
def plugins(common: Common) -> None:
    """List the plugins: what each offers, or why it does not.

    The remedy says what mends a plugin that failed.
    """
    rows = [
        (report.name, report.version, report.distribution, report.state, report.offers, report.reason, report.remedy)
        for report in assembled(common, run_jobs=False).reports
    ]
    print_rows(_COLUMNS, rows, as_json=common.as_json, empty="There are no plugins.")
