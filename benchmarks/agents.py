"""An assembled agent with the shipped plugins and a long history, talking to a stub server."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import structlog
from bumble_compactor import CompactorConfig, CompactorPlugin
from bumble_files import FilesConfig, FilesPlugin
from bumble_judge import JudgePlugin
from bumble_openai import OpenAIConfig, OpenAIPlugin
from bumble_router import RouterConfig, RouterPlugin
from bumble_talk import TalkPlugin

from bumble_core import PluginConfig, Runtime, Settings, assemble
from bumble_core.http.transports import is_fast_installed
from bumble_core.types.messages import Message, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.types.turn import Turn

SESSION = "long"
_WORDS = "The ferry leaves at nine from the northern quay and takes an hour and a half to the island. "


def agent(home: Path, url: str, *, plain: bool, more: Mapping[str, object] | None = None) -> Runtime:
    """Assemble an agent whose window holds any history; jobs are left alone. `plain` leaves the extra `fast` out.

    `more` are plugins beside the shipped ones.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))  # as the command does
    os.environ.pop("OPENAI_BASE_URL", None)
    nothing = PluginConfig()
    plugins = {
        "openai": OpenAIPlugin(OpenAIConfig(base_url=f"{url}/v1", fast_transport=not plain)),
        "router": RouterPlugin(RouterConfig(classifier=False)),
        "judge": JudgePlugin(nothing),
        "compactor": CompactorPlugin(CompactorConfig()),
        "talk": TalkPlugin(nothing),
        "files": FilesPlugin(FilesConfig(root=home)),
        **(more or {}),
    }
    settings = Settings.model_validate(
        {
            "agent": {"models": ["openai:m"]},
            "home": home,
            "cognition": {"max_context_tokens": 100_000_000},
            "gate": {"policy": "heuristics"},  # a bare loop asks no judge and no router either
        }
    )
    return assemble(settings, plugins=plugins, discovers=False, run_jobs=False)


def history(messages: int) -> tuple[Turn, ...]:
    """Return turns with that many messages in all, four to a turn: a question, a call, its result, an answer."""
    return tuple(_turn(number) for number in range(messages // 4))


def _turn(number: int) -> Turn:
    call = ToolCall(id=f"call_{number}", name="read_file", arguments={"path": f"notes/{number}.txt", "first_line": 1})
    result = ToolResult(call_id=call.id, name=call.name, content=_WORDS * 3)
    said: tuple[Message, ...] = (
        user(f"{number}: {_WORDS}"),
        assistant("", call),
        tool_message(result),
        assistant(f"{number}: {_WORDS * 2}"),
    )
    at = datetime.now(UTC)
    return Turn(
        id=f"turn_{number}", session_id=SESSION, started=at, finished=at, status="done", messages=said, delivered=("x",)
    )


def transport(*, plain: bool) -> str:
    """Name what an agent's requests travel with."""
    return "aiohttp" if is_fast_installed() and not plain else "httpx"
