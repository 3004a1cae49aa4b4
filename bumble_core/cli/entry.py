"""Give a command its configuration, after asking about a file that may have come with somebody's folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from types import MappingProxyType

import click

from ..configuration import Configuration, Decision, HeldBack, Surroundings, Trust, resolve
from .options import Common
from .output import shown, tell

_NOTHING: Mapping[str, object] = MappingProxyType({})


def configuration(common: Common, overrides: Mapping[str, object] = _NOTHING) -> Configuration:
    """Return the settings in force for this call of `bumble`; `overrides` are flags, by dotted key.

    What a file without trust would have changed is told on standard error, and on a terminal the person is asked,
    once for each content of the file.

    Raises:
        ConfigError: the configuration is wrong.
    """
    around = Surroundings.of_process()
    flags = {**({"home": common.home} if common.home else {}), **overrides}
    found = resolve(common.config, overrides=flags, surroundings=around)
    if not found.held_back or found.examined is None:
        return found
    if found.verdict == "refused":
        tell(f"{found.source} is not trusted; {_how_many(found)} held back. {_advice(found)}", err=True)
        return found
    tell(f"{found.source} is not trusted, and this is held back:\n{described(found.held_back)}", err=True)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        tell(_advice(found), err=True)
        return found
    agreed = click.confirm("Did you write it, or do you trust who did?", default=False, err=True)
    decision: Decision = "trusted" if agreed else "refused"
    Trust.among(around.data_folder).decide(found.examined.path, found.examined.digest, decision)
    return resolve(common.config, overrides=flags, surroundings=around) if agreed else found


def described(demands: tuple[HeldBack, ...]) -> str:
    """List settings that need trust, one per line."""
    return "\n".join(f"  {shown(each.key)}: {shown(str(each.value))} ({each.origin})" for each in demands)


def _how_many(found: Configuration) -> str:
    count = len(found.held_back)
    return f"{count} settings are" if count > 1 else "1 setting is"


def _advice(found: Configuration) -> str:
    folder = found.source.parent if found.source else ""
    return f"To trust it: bumble config trust {shlex.quote(str(folder))}"
