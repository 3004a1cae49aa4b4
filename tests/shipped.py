"""The shipped plugins, constructed from the entry points that pyproject.toml lists."""

from __future__ import annotations

import pkgutil
import tomllib
from pathlib import Path

from bumble_core import PluginConfig

ROOT = Path(__file__).parent.parent


def entry_points(group: str) -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dict(project["entry-points"][group])


def construct_shipped(*names: str, **sections: object) -> dict[str, object]:
    points = entry_points("bumble_core.plugins")
    built = {}
    for name in names:
        plugin = pkgutil.resolve_name(points[name])
        config = getattr(plugin, "Config", PluginConfig)
        built[name] = plugin(config.model_validate(sections.get(name, {})))
    return built
