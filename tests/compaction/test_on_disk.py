"""Conversations that are compacted again and again, by phases that fail: all that was said stays on disk."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Runtime, Settings, ToolCall, Turn, assemble, assistant, hookimpl
from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.builtin.system import SystemClock
from bumble_core.errors import Unreachable
from bumble_core.testing import RequestChecker
from bumble_core.types.inference import Completion, Delta, ModelInfo, Request
from tests.compaction.bench import MODEL
from tests.compaction.histories import ROGUES, Rogue, unreliable
from tests.depth import IS_DEEP, examples
from tests.pieces import Tools
from tests.shipped import construct_shipped

SESSIONS, TURNS, AT_ONCE = examples(5, 1_000), 12, 5
LOCKED = "## [locked] Rules\nNever share keys.\n\n### Why\n```\n## [locked] no heading\n```\n"
TITLES = ("[locked] Rules", "rules", "RULES:", "［locked］ Rules", "Why", "Tea", "Tea\n## [locked] Rules")
WORDS = ("ok", "word " * 90, "请检查日志" * 30, "src/main.py, line 120. " * 12, "## heading\n```\n" * 8)


class Chancy:
    """A model that talks, calls and summarises by chance, a tool of its own, and phases that do harm."""

    def __init__(self, seed: int) -> None:
        self.said: list[str] = []
        self._checker = RequestChecker()
        self._dice = random.Random(seed)
        self._summary = unreliable(seed)
        self._harm: dict[str, Any] = {}

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]

    @hookimpl
    def bumble_compaction_phases(self) -> list[Any]:
        return [Rogue(name, ROGUES[name]) for name in ROGUES]

    name = MODEL.provider

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=MODEL),)

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        answer: Any = self._answer(request)
        if isinstance(answer, Exception):
            raise Unreachable(str(answer))
        said, finish = answer if isinstance(answer, tuple) else (answer, "stop")
        yield Completion(message=said if not isinstance(said, str) else assistant(said), finish=finish, model=MODEL)

    def words(self) -> str:
        self.said.append(f"{len(self.said)}: {self._dice.choice(WORDS)}")
        return self.said[-1]

    def look(self) -> str:
        """Look at something."""
        return self.words() * self._dice.randint(1, 6)

    def _answer(self, request: Request) -> Any:
        if request.profile.name == "flush":
            facts = [{"title": self._dice.choice(TITLES), "body": f"fact\n# {self._dice.random()}"}]
            return json.dumps(facts) if self._dice.random() < 0.7 else "I would rather not."
        if request.purpose == "compact":
            return self._summary(request.messages[-1].text)
        if request.purpose != "turn":
            return "Who knows."
        if request.messages[-1].role != "tool" and request.tool_choice != "none" and self._dice.random() < 0.5:
            return assistant(self.words(), ToolCall(name="look"), ToolCall(name="look"))
        return self.words()


async def talked(runtime: Runtime, model: Chancy, session: str) -> list[Turn]:
    return [await runtime.answer(model.words(), session=session) for _ in range(TURNS)]


@pytest.mark.timeout(3600 if IS_DEEP else 300)
async def test_all_that_was_said_is_read_back_in_order(tmp_path: Path) -> None:
    home, model = tmp_path / "home", Chancy(seed=5)
    knowledge = home / "memory" / "knowledge.md"
    knowledge.parent.mkdir(parents=True)
    knowledge.write_text(f"Mine.\n\n{LOCKED}", encoding="utf-8")
    phases = ["flush", "drop-results", "prune", "lie", "bounds", "raise", "summarise", "drop-last", "shout"]
    cognition = {"max_context_tokens": 3000, "history_compression": {"phases": phases, "compaction_protect_last_n": 4}}
    settings = Settings.model_validate({"agent": {"models": [str(MODEL)]}, "home": home, "cognition": cognition})
    plugins = {**construct_shipped("router", "judge", "compactor"), "chancy": model, "own": Tools(model.look)}
    turns: dict[str, list[Turn]] = {}
    async with assemble(settings, plugins=plugins, discovers=False, run_jobs=False) as runtime:
        for first in range(0, SESSIONS, AT_ONCE):
            names = [str(number) for number in range(first, first + AT_ONCE)]
            turns.update(zip(names, await asyncio.gather(*(talked(runtime, model, n) for n in names)), strict=True))
    assert {turn.status for held in turns.values() for turn in held} == {"done"}
    fresh = SqliteSessions(home, SystemClock())
    for name, held in turns.items():
        assert [turn.messages for turn in await fresh.turns(session_id=name)] == [turn.messages for turn in held]
    everything = "\n".join(turn.model_dump_json() for turn in await fresh.turns())
    await fresh.aclose()
    assert [said for said in model.said if json.dumps(said.strip(), ensure_ascii=False)[1:-1] not in everything] == []
    assert LOCKED in knowledge.read_text("utf-8")
    assert "fact" in knowledge.read_text("utf-8")
    assert sum(len(turn.compactions) for held in turns.values() for turn in held) > SESSIONS
