"""What the tests of the file tools share: a workspace on the disk, and a call as the kernel makes it."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from bumble_files import FilesConfig, FilesPlugin
from pydantic import JsonValue

from bumble_core import Settings, ToolCall, ToolError
from bumble_core.ports import Tool
from bumble_core.types.inference import ModelRef, Profile
from bumble_core.types.messages import user
from bumble_core.types.settings import Tools
from bumble_core.types.turn import Limits, Route, TurnContext, TurnInput

_CASES = Path(__file__).parents[1] / "cases" / "cases.yaml"
_MODELS = (ModelRef(model="m"),)
TURN = TurnContext.begin(
    TurnInput(session_id="s", message=user("hi"), models=_MODELS, started=datetime(2026, 1, 1, tzinfo=UTC)),
    Route(profile=Profile(name="reflex", max_tokens=9), models=_MODELS, decided_by="forced", reason="test"),
    Limits(max_steps=6, max_pushbacks=2, max_auxiliary_calls=12, deadline_s=60),
)


def case(name: str) -> dict[str, Any]:
    """Return one case of the file of failure cases."""
    text = _CASES.read_text("utf-8")
    start = text.index(f"- id: {name}\n")
    end = text.find("\n- id: ", start)
    found: list[dict[str, Any]] = yaml.safe_load(text[start : end if end > 0 else None])
    return found[0]


def build(base: Path, tree: Mapping[str, str]) -> None:
    """Make the files of `tree` under `base`, which stands for `/w`."""
    for path, content in tree.items():
        place = base / path.removeprefix("/w/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if link := re.match(r"symlink to (\S+)", content):
            place.symlink_to(re.sub(r"^/w(?=/|$)", str(base), link[1]))
        elif content.startswith("FIFO"):
            os.mkfifo(place)
        elif content == "unix socket":
            with contextlib.chdir(place.parent), socket.socket(socket.AF_UNIX) as made:
                made.bind(place.name)
        else:
            place.write_text(content, "utf-8")


@cache
def tools(root: Path, limit: int, max_output_chars: int) -> dict[str, Tool]:
    plugin = FilesPlugin(FilesConfig(root=root, max_read_bytes=limit))
    settings = Settings(tools=Tools(max_output_chars=max_output_chars))
    return {each.spec.name: each for each in plugin.bumble_tools(settings)}


async def ask(
    root: Path, name: str, given: dict[str, JsonValue], *, limit: int = 10_485_760, chars: int = 16_000
) -> str:
    """Call a tool on the workspace `root` and return its content, or what a `ToolError` says after `error: `."""
    try:
        return (await tools(root, limit, chars)[name].call(ToolCall(id="c", name=name, arguments=given), TURN)).content
    except ToolError as error:
        return f"error: {error}"


async def call(root: Path, name: str, **given: JsonValue) -> str:
    """Do as `ask` does, with the arguments by name."""
    return await ask(root, name, given)


def outside(base: Path) -> dict[str, str]:
    """Return everything under `base` that is not in the workspace `base/ws`, with its content."""
    found: dict[str, str] = {}
    for folder, names, files in os.walk(base):
        if Path(folder) == base:
            names.remove("ws")
        for name in (*names, *files):
            place = Path(folder, name)
            found[str(place)] = place.read_text("utf-8") if place.is_file() else "folder"
    return found
