"""What a configuration asks of the plugins that are installed: their own keys, and the names that they offer."""

from __future__ import annotations

import asyncio

from ..configuration import Configuration
from ..errors import ConfigError
from .assembled import runtime_of
from .options import Common


def check_plugins_of(found: Configuration, common: Common) -> None:
    """Assemble a runtime and let it go; nothing is written, and nothing is connected.

    Raises:
        AssemblyError: a stage, a job or a phase is named that nobody offers, or a plugin's own keys are wrong.
    """
    runtime = runtime_of(found, common, run_jobs=False)
    asyncio.run(runtime.aclose())
    sections = found.settings.plugins.sections
    wrong = [each.reason for each in runtime.reports if each.state == "failed" and each.name in sections]
    if wrong:
        raise ConfigError("\n".join(wrong))
