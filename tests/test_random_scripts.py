"""Two thousand random scripts: what runs is exactly what arrived whole."""

from __future__ import annotations

import asyncio
import json
import random
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Settings, assemble, assistant, hookimpl
from bumble_core.chat import read_arguments
from bumble_core.http import ChatReply, Server
from bumble_core.testing import RequestChecker
from bumble_core.testing.stub_replies import openai_stream, sse_event
from bumble_core.types.inference import Completion, Delta, ModelInfo, ModelRef, Request
from tests.depth import IS_DEEP, examples
from tests.http.test_mutations import cut_at_random
from tests.pieces import Tools
from tests.shipped import construct_shipped

SCRIPTS = examples(2_000, 20_000)
AT_ONCE = 50
REF = ModelRef(provider="scripted", model="model")
UNPARSABLE = ('{{"mark": {mark}', "[{mark}]", '"{mark}"', '{{"mark": {mark}, }}')
MISFITS = ('{{"mark": "{mark}x"}}', '{{"marks": {mark}}}')
ENDS = ("tool_calls", "tool_calls", "stop", "length", "", "max_tokens")


@dataclass
class Step:
    """One reply of a model, as bytes; `runs` are the marks of the calls that may be executed."""

    data: bytes
    runs: list[int] = field(default_factory=list)


class Scripts:
    """Makes up replies. Every call has a mark of its own, which the tool that runs it writes down."""

    def __init__(self, seed: int) -> None:
        self.chance, self.marks = random.Random(seed), 0

    def steps(self) -> list[Step]:
        return [self._step() for _ in range(self.chance.randint(1, 3))]

    def _step(self) -> Step:
        chance, end = self.chance, self.chance.choice(ENDS)
        calls = [self._call() for _ in range(chance.randint(1, 3))]
        runs = [mark for mark, _, is_whole in calls if is_whole and end in ("tool_calls", "stop")]
        entries = [arguments for _, arguments, _ in calls]
        style = chance.choice((self._in_pieces, self._whole, self._interleaved))
        chunks = [{"choices": [{"delta": {"tool_calls": delta}}]} for delta in style(entries)]
        if chance.random() < 0.3:
            chunks.insert(0, {"choices": [{"delta": {"content": "Let me see."}}]})
        if end:
            chunks.append({"choices": [{"delta": {}, "finish_reason": end}]})
        data = b"".join(map(sse_event, chunks))
        return Step(data if end else data[: chance.randrange(len(data) + 1)], runs)

    def _call(self) -> tuple[int, str, bool]:
        self.marks += 1
        is_whole = self.chance.random() < 0.6
        pattern = '{{"mark": {mark}}}' if is_whole else self.chance.choice((*UNPARSABLE, *MISFITS))
        return self.marks, pattern.format(mark=self.marks), is_whole

    def _whole(self, entries: list[str]) -> Iterator[list[Any]]:
        has_ids = self.chance.random() < 0.5 or any(read_arguments(entry)[1] for entry in entries)
        for place, arguments in enumerate(entries):
            given = {"id": f"call_{place}"} if has_ids else {}
            yield [{**given, "index": 0, "function": {"name": "note", "arguments": arguments}}]

    def _in_pieces(self, entries: list[str]) -> Iterator[list[Any]]:
        for place, arguments in enumerate(entries):
            at = self.chance.randrange(len(arguments))
            yield [{"index": place, "id": f"c{place}", "function": {"name": "note", "arguments": arguments[:at]}}]
            yield [{"index": place, "function": {"arguments": arguments[at:]}}]

    def _interleaved(self, entries: list[str]) -> Iterator[list[Any]]:
        yield [{"index": i, "id": f"c{i}", "function": {"name": "note", "arguments": ""}} for i in range(len(entries))]
        for at in range(max(map(len, entries))):
            yield [{"index": i, "function": {"arguments": text[at : at + 1]}} for i, text in enumerate(entries)]


class Scripted:
    """Plays steps byte by byte, as the provider `openai` reads them, and then answers in words."""

    name = "scripted"

    def __init__(self, scripts: Scripts) -> None:
        self.played: list[Step] = []
        self.ran: list[int] = []
        self._scripts = scripts
        self._checker = RequestChecker()
        self._steps: dict[str, deque[Step]] = {}

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        self._checker.check(request)
        if request.owner not in self._steps:
            self._steps[request.owner] = deque(self._scripts.steps())
        left = self._steps[request.owner]
        step = left.popleft() if left else Step(b"".join(openai_stream(assistant("Done."))))
        self.played.append(step)
        parser = ChatReply(REF, Server(name="scripted"))
        for piece in cut_at_random(self._scripts.chance, step.data):
            for delta in parser.feed(piece):
                yield delta
        for delta in parser.end():
            yield delta
        yield parser.completion()

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=REF),)

    @hookimpl
    def bumble_providers(self) -> list[Any]:
        return [self]

    def note(self, mark: int) -> str:
        """Write a mark down."""
        self.ran.append(mark)
        return json.dumps(mark)


@pytest.mark.timeout(3600 if IS_DEEP else 300)
async def test_no_call_runs_that_did_not_parse_or_was_cut(tmp_path: Path) -> None:
    model = Scripted(Scripts(seed=7))
    plugins = {**construct_shipped("router", "judge", "compactor", "jobs"), "scripted": model, "own": Tools(model.note)}
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": tmp_path / "home"})
    async with assemble(settings, plugins=plugins, discovers=False, run_jobs=False) as runtime:
        for first in range(0, SCRIPTS, AT_ONCE):
            sessions = map(str, range(first, first + AT_ONCE))
            await asyncio.gather(*(runtime.answer("go on", session=session) for session in sessions))
    assert sorted(model.ran) == sorted(mark for step in model.played for mark in step.runs)
    assert sum(not step.runs for step in model.played) > SCRIPTS // 2
