"""Run in a process of its own: one turn on a session that another process left, told as JSON.

    python -m tests.next_process HOME SESSION INPUT CASE

The model plays the last reply of the case. What is printed: how the turn ended, the messages of its requests, and what
was logged as a warning.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import structlog

from bumble_core import Settings, Turn, assemble
from bumble_core.types.messages import Message
from tests.case_script import CaseScript
from tests.http.streams import case
from tests.pieces import Tools, quick, slow
from tests.shipped import construct_shipped


def turn_in_next_process(home: Path, session: str, input: str, name: str) -> dict[str, Any]:
    """Return what such a process told."""
    command = [sys.executable, "-m", "tests.next_process", str(home), session, input, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    told["requests"] = [[Message.model_validate(one) for one in messages] for messages in told["requests"]]
    return told


async def _turn(home: str, session: str, input: str, model: CaseScript) -> Turn:
    plugins = {
        **construct_shipped("router", "judge", "compactor", "talk"),
        "scripted": model,
        "own": Tools(quick, slow),
    }
    found = Settings.model_validate(
        {"agent": {"models": ["scripted:model"]}, "home": home, "gate": {"policy": "heuristics"}}
    )
    async with assemble(found, plugins=plugins, discovers=False, run_jobs=False) as runtime:
        return await runtime.answer(input, session=session)


def main(home: str, session: str, input: str, name: str) -> None:
    model = CaseScript(case(name)["given"]["script"][-1:])
    with structlog.testing.capture_logs() as logged:
        turn = asyncio.run(_turn(home, session, input, model))
    requests = [[message.model_dump(mode="json") for message in request.messages] for request in model.requests]
    warnings = [entry for entry in logged if entry["log_level"] == "warning"]
    told = {"status": turn.status, "delivered": turn.delivered, "requests": requests, "warnings": warnings}
    print(json.dumps(told, default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
