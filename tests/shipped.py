"""The shipped plugins, constructed from the entry points that pyproject.toml lists."""

from __future__ import annotations

import pkgutil

from bumble_core import PluginConfig
from tests.installed import shipped_entry_points


def construct_shipped(*names: str, **sections: object) -> dict[str, object]:
    points = shipped_entry_points()["bumble_core.plugins"]
    built = {}
    for name in names:
        plugin = pkgutil.resolve_name(points[name])
        config = getattr(plugin, "Config", PluginConfig)
        built[name] = plugin(config.model_validate(sections.get(name, {})))
    return built
