"""The modules that write the reference; they lie in `docs/`, which is no package."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from tests.installed import CHECKOUT

DOCS = CHECKOUT / "docs"


def generator(name: str = "generate") -> ModuleType:
    """Return the module `docs/NAME.py`."""
    sys.path.insert(0, str(DOCS))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(DOCS))
