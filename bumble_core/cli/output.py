"""Print rows and values: a table on a terminal, aligned text in a pipe, JSON when asked."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Sequence

import click

from ..deferred import Deferred
from ..printable import printable

Cell = str | int | float | bool | Sequence[str] | None

_GAP = "  "
# What a terminal may obey, beside what JSON escapes by itself.
_OBEYED = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_print_on_terminal = Deferred("bumble_core.cli.terminal:print_table")


def tell(text: str, *, err: bool = False) -> None:
    """Print a text for a person; what a terminal would obey rather than show is made visible."""
    click.echo(printable(text), err=err)


def print_rows(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, as_json: bool = False, empty: str = "Nothing to show."
) -> None:
    """Print one line per row. `columns` are headings and, in JSON, keys: `passed_over` is shown as `PASSED OVER`.

    `empty` is what a person reads when there are no rows; JSON is then an empty list.
    """
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif not rows:
        click.echo(empty)
    elif sys.stdout.isatty():
        _print_on_terminal(headings(columns), [[shown(cell) for cell in row] for row in rows])
    else:
        click.echo(_aligned([headings(columns), *([shown(cell) for cell in row] for row in rows)]))


def print_json(value: object) -> None:
    """Print `value` as indented JSON, with escapes for what a terminal would obey or the stream cannot show."""
    escaped = (sys.stdout.encoding or "ascii").lower().replace("-", "") != "utf8"
    text = json.dumps(value, indent=2, ensure_ascii=escaped, default=str)
    click.echo(_OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def headings(columns: Sequence[str]) -> list[str]:
    return [column.replace("_", " ").upper() for column in columns]


def shown(cell: Cell) -> str:
    """Return a cell as one line without control characters, so that no text can drive the terminal."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    text = str(cell) if isinstance(cell, str | int | float) else ", ".join(cell)
    return "".join(_printable(character) for character in " ".join(text.split()))


def _printable(character: str) -> str:
    harmless = unicodedata.category(character) not in {"Cc", "Cf", "Cs"} or character in "\u200c\u200d"
    return character if harmless else character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(_width(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        _GAP.join(_padded(text, width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Return how many columns a terminal takes for `text`: East Asian characters take two."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )
