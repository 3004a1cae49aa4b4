"""What the tests of the memory share: an agent that remembers, and what its requests showed of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bumble_core import Message, Runtime, Settings, assemble, assistant
from bumble_core.testing import ScriptedProvider
from tests.pieces import ManualClock
from tests.shipped import construct_shipped


def remembering(
    home: Path,
    *replies: Message,
    files: Mapping[str, str] | None = None,
    plugins: Mapping[str, object] | None = None,
    **config: Any,
) -> tuple[Runtime, ScriptedProvider]:
    """Return a runtime with a memory of `files`, and the model, which answers from `replies`."""
    for path, text in (files or {}).items():
        file = home / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    script = ScriptedProvider(replies or [assistant("Done.")])
    shipped = construct_shipped("memory", "router", "judge", "compactor", memory=config)
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
    offered = {**shipped, "scripted": script, **(plugins or {})}
    return assemble(settings, plugins=offered, discovers=False, run_jobs=False, clock=ManualClock()), script


async def shown(home: Path, text: str, files: Mapping[str, str], **config: Any) -> tuple[str, str]:
    """Return the system prompt and the turn context that a message is answered with."""
    built, script = remembering(home, files=files, **config)
    async with built:
        await built.answer(text)
    return script.requests[0].messages[0].text, script.requests[0].tail
