"""What the tests of the configuration share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Folders in which nothing is configured."""
    return Machine(tmp_path)
