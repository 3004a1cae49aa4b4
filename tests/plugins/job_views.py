"""Turns, views and models for tests of single jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bumble_core import Settings, assistant, user
from bumble_core.builtin.endpoints import EndpointMemory
from bumble_core.builtin.inference import FallbackInference
from bumble_core.builtin.system import SystemFiles
from bumble_core.ports import Job
from bumble_core.testing import Reply, ScriptedProvider
from bumble_core.types.documents import ABSENT, Document
from bumble_core.types.inference import ModelRef
from bumble_core.types.jobs import JobResult, JobView
from bumble_core.types.messages import Message, ToolCall, ToolResult, tool_message
from bumble_core.types.turn import Turn
from tests.pieces import ManualClock

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODELS = tuple(ModelRef(provider="scripted", model=name) for name in ("one", "two", "three"))


def turn(number: int, said: str = "hello", reply: str = "yes", *results: ToolResult, **more: Any) -> Turn:
    """Return a turn in which the user said something, tools put something out, and the agent replied."""
    calls = [ToolCall(id=result.call_id, name=result.name) for result in results]
    called = [assistant("", *calls)] if calls else []
    messages: list[Message] = [user(said), *called, *map(tool_message, results), assistant(reply)]
    kept = {"session_id": "s", "started": AT, "finished": AT, "status": "done", "delivered": (reply,)}
    return Turn(id=f"turn_{number}", number=number, messages=tuple(messages), **{**kept, **more})


def result(name: str, content: str, **more: Any) -> ToolResult:
    return ToolResult(call_id=f"call_{name}", name=name, content=content, **more)


def view(job: Job, *turns: Turn, texts: Mapping[str, str] | None = None, **more: Any) -> JobView:
    given = {**dict.fromkeys((*job.spec.inputs, *job.spec.outputs), ""), **(texts or {})}
    documents = {
        path: Document(path=path, text=text, version=str(len(text)) if text else ABSENT) for path, text in given.items()
    }
    return JobView(**{"run_id": "run_1", "at": AT, "turns": turns, "documents": documents, "models": MODELS, **more})


def inference(home: Path, *replies: Reply) -> tuple[FallbackInference, ScriptedProvider]:
    """Return the kernel's fallback order over one scripted provider."""
    script, clock = ScriptedProvider(replies), ManualClock()
    return FallbackInference({"scripted": script}, EndpointMemory(home, SystemFiles(), clock), clock, {}), script


def answering(**fields: Any) -> Message:
    return assistant(json.dumps(fields, ensure_ascii=False))


def texts(done: JobResult) -> dict[str, str]:
    return {write.path: write.text for write in done.writes}


def checked(job: Any, seen: JobView, done: JobResult) -> str:
    """Return what the job's own check says of the documents after the writes."""
    after = {
        path: document.model_copy(update={"text": texts(done).get(path, document.text)})
        for path, document in seen.documents.items()
    }
    problem: str = job.problem(seen, done, after)
    return problem


SETTINGS = Settings()
