"""Walk the folders of run records, the newest first, and drop what is too old or too much."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ..ports import Files

RECORD = re.compile(r"(?P<job>[a-z0-9_]+)-(?P<at>(?P<day>\d{8})T\d{6}\.\d{6}Z)(-(?P<nth>\d+))?\.json")
_AT = "%Y%m%dT%H%M%S.%fZ"


def days(runs: Path) -> Iterator[Path]:
    """Yield the folders of days that hold records, the newest first."""
    for year in sorted(names(runs), reverse=True):
        for month in sorted(names(runs / year), reverse=True):
            for day in sorted(names(runs / year / month), reverse=True):
                yield runs / year / month / day


def names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 only the names are wanted


def prune(runs: Path, files: Files, before: datetime, most: int, is_open: Callable[[str], bool]) -> int:
    """Remove records that started before `before` and the oldest of more than `most`; open runs stay.

    Whole days within bounds are counted, not read.
    """
    kept = dropped = 0
    oldest = before.astimezone(UTC).strftime(_AT)
    for day in days(runs):
        found = sorted((one for one in map(RECORD.fullmatch, names(day)) if one), key=lambda one: one["at"])
        for one in reversed(found):
            if is_open(one.string) or (kept < most and one["at"] >= oldest):
                kept += 1
            else:
                files.unlink(day / one.string)
                dropped += 1
        _drop_empty(day, runs)
    return dropped


def _drop_empty(day: Path, runs: Path) -> None:
    with suppress(OSError):  # not empty
        for folder in (day, day.parent, day.parent.parent):
            if folder != runs:
                folder.rmdir()
