"""Find the commands that are installed, and load one when it is called."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass

import click

from ..errors import AssemblyError
from .table import COMMAND_GROUP, DISTRIBUTION, SHIPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The entry points that claim one command's name; only one of ours or a lone stranger's can be called."""

    name: str
    claims: tuple[importlib.metadata.EntryPoint, ...]

    @property
    def summary(self) -> str:
        return SHIPPED.get(self.name, f"(from {', '.join(_distribution(claim) for claim in self.claims)})")


def find() -> Mapping[str, Found]:
    """Return every command by name, ours first; nothing is imported. A name of ours cannot be taken by another."""
    claims: dict[str, list[importlib.metadata.EntryPoint]] = {name: [] for name in SHIPPED}
    strangers: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in sorted(importlib.metadata.entry_points(group=COMMAND_GROUP), key=_distribution):
        if point.name not in SHIPPED:
            strangers.setdefault(point.name, []).append(point)
        elif _distribution(point) == DISTRIBUTION:
            claims[point.name] = [point]
    everything = claims | dict(sorted(strangers.items()))
    return {name: Found(name=name, claims=tuple(points)) for name, points in everything.items()}


def load(found: Found) -> click.Command:
    """Import a command.

    Raises:
        AssemblyError: it is not installed, is claimed twice, or fails to import.
    """
    if not found.claims:
        raise AssemblyError(
            f"the command `{found.name}` is not installed; install the distribution again: pip install {DISTRIBUTION}"
        )
    if len(found.claims) > 1:
        owners = " and ".join(f"`{_distribution(claim)}`" for claim in found.claims)
        raise AssemblyError(f"{owners} both provide the command `{found.name}`; uninstall one of them")
    return _imported(found.claims[0])


def _imported(point: importlib.metadata.EntryPoint) -> click.Command:
    owner = _distribution(point)
    try:
        command = point.load()
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise AssemblyError(
            f"the command `{point.name}` of `{owner}` fails to import: {said}; repair or uninstall `{owner}`"
        ) from error
    if not isinstance(command, click.Command):
        raise AssemblyError(f"the command `{point.name}` of `{owner}` is no click command: `{point.value}`")
    return command


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown distribution"
