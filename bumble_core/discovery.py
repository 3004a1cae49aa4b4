"""Find the installed plugins without importing any, and write down what became of each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Literal

from . import hookspecs
from .errors import ConfigError
from .types.plugins import PluginReport
from .types.settings import Settings

OWN_DISTRIBUTION = "bumble-core"
CORE = "core"  # the kernel's own plugin
_PREFERENCES = ("provider", "tool", "compaction_phase", "job", "surface")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A plugin that was found: an entry point, or an object that the application passed."""

    name: str
    distribution: str
    version: str
    point: EntryPoint | None = None
    instance: object | None = None

    @property
    def is_shipped(self) -> bool:
        return self.distribution == OWN_DISTRIBUTION


def discover(points: Iterable[EntryPoint] | None = None) -> tuple[tuple[Candidate, ...], tuple[PluginReport, ...]]:
    """Return the installed plugins sorted by name, without importing any, and reports of names used twice.

    A shipped plugin keeps its name; of two strangers with one name neither is used.
    """
    grouped: dict[str, list[Candidate]] = {}
    found = tuple(entry_points(group=hookspecs.ENTRY_POINT_GROUP) if points is None else points)
    for candidate in _candidates(found):
        grouped.setdefault(candidate.name, []).append(candidate)
    kept: list[Candidate] = []
    reports: list[PluginReport] = []
    for loser in grouped.pop(CORE, ()):
        reason, remedy = f"the name `{CORE}` is the kernel's own", "report it to the plugin's authors"
        reports.append(report(loser, "failed", reason=reason, remedy=remedy))
    for name in sorted(grouped):
        group = sorted(grouped[name], key=lambda candidate: (candidate.distribution, candidate.version))
        winner = group[0] if len(group) == 1 else next((c for c in group if c.is_shipped), None)
        kept += [winner] if winner else []
        names = " and ".join(f"`{candidate.distribution}`" for candidate in group)
        for loser in (candidate for candidate in group if candidate is not winner):
            reason = f"the name `{name}` is used by {names}"
            remedy = f"uninstall one: pip uninstall {loser.distribution}"
            reports.append(report(loser, "failed", reason=reason, remedy=remedy))
    return tuple(kept), tuple(reports)


def check_names(known: Iterable[str], settings: Settings) -> None:
    """Refuse a configuration that names a plugin which is not installed, or prefers a kind that has no names.

    Raises:
        ConfigError: with the nearest name.
    """
    names = sorted({*known, CORE})
    sections = {f"plugins.{name}": name for name in settings.plugins.sections}
    disabled = {f"plugins.disabled: {name}": name for name in settings.plugins.disabled}
    preferred = {f"prefer.{key}": name for key, name in settings.prefer.items()}
    for where, name in {**sections, **disabled, **preferred}.items():
        if name not in names:
            raise ConfigError(f"{where}: no such plugin{_nearest(name, names)}")
    for key in settings.prefer:
        kind, colon, name = key.partition(":")
        if kind not in _PREFERENCES or not (colon and name):
            raise ConfigError(f"prefer.{key}: expected KIND:NAME{_nearest(kind, _PREFERENCES)}")


def report(
    candidate: Candidate,
    state: Literal["loaded", "disabled", "missing", "failed"],
    *,
    offers: tuple[str, ...] = (),
    reason: str = "",
    remedy: str = "",
) -> PluginReport:
    return PluginReport(
        name=candidate.name,
        distribution=candidate.distribution,
        version=candidate.version,
        state=state,
        offers=offers,
        reason=reason,
        remedy=remedy,
    )


def _candidates(points: Iterable[EntryPoint]) -> Iterator[Candidate]:
    """Yield a candidate for each entry point; the metadata of each distribution is read once."""
    read: dict[int, tuple[str, str]] = {}
    for point in points:
        if point.dist is None:
            yield Candidate(name=point.name, distribution=point.value, version="", point=point)
            continue
        if id(point.dist) not in read:
            metadata = point.dist.metadata
            name, *_ = metadata.get_all("Name") or [point.value]  # metadata that is damaged may lack both
            version, *_ = metadata.get_all("Version") or [""]
            read[id(point.dist)] = str(name), str(version)
        name, version = read[id(point.dist)]
        yield Candidate(name=point.name, distribution=name, version=version, point=point)


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else f"; there are: {', '.join(known)}"
