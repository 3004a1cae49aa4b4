"""What a person sees of the logs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.installed import Installed

CODE = """
import structlog
from bumble_core.cli.logs import configure
configure(debug={debug})
log = structlog.get_logger("test")
log.debug("stage.chosen", stage="router")
log.warning("provider.failed", url="http://u:hunter2@x", api_key="hunter2")
"""


@pytest.mark.parametrize("debug", [False, True], ids=["default", "debug"])
def test_warnings_go_to_standard_error_and_debug_shows_all(installed: Installed, debug: bool) -> None:
    command = [sys.executable, "-c", CODE.format(debug=debug)]
    done = subprocess.run(command, env=installed.environment, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert "provider.failed" in done.stderr
    assert ("stage.chosen" in done.stderr) is debug
    assert "hunter2" not in done.stderr
