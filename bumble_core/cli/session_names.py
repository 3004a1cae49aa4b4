"""What a session may be called on the command line: a name that can be typed, listed and told apart."""

from __future__ import annotations

import click

_LONGEST = 200
RULE = f"a session's name has 1 to {_LONGEST} printable characters"


def is_speakable(name: str) -> bool:
    return bool(name.strip()) and name.isprintable() and len(name) <= _LONGEST


def checked_name(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the value of an option that names a session.

    Raises:
        BadParameter: it is no name.
    """
    if value is not None and not is_speakable(value):
        raise click.BadParameter(RULE)
    return value
