"""The module `docs/generate.py`, which is no part of a package, and the pages that it writes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "reference"


def generator() -> ModuleType:
    """Return `docs/generate.py` as a module."""
    name = "docs_generate"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "generate.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
