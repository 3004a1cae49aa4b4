"""Replay a long session under compaction and count what of it can still be answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from bumble_compactor import CompactorConfig, CompactorPlugin
from bumble_compactor.recall import look_up
from bumble_compactor.summary import body_of, index_of

from benchmarks.compaction.sessions import LongSession
from benchmarks.compaction.summarisers import MODEL
from bumble_core.builtin.compactor import PhasedCompactor
from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.sessions import SqliteSessions
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.builtin.tokens import CharacterCounter
from bumble_core.ports import Inference
from bumble_core.types.compaction import CompactionState
from bumble_core.types.inference import ModelRef
from bumble_core.types.messages import Message
from bumble_core.types.settings import Settings
from bumble_core.types.turn import Turn

_AT = datetime(2026, 11, 30, tzinfo=UTC)
Summarisers = Callable[[LongSession], Inference]


@dataclass(frozen=True)
class Score:
    """What is left of one session.

    `kept` is the share of its questions that the view answers, `words` the same of those that ask for no identifier,
    `reached` the share with one `recall` each. `index` is the largest share of a summary that its index took.
    """

    session: str
    tokens: int
    view_tokens: int
    compactions: int
    kept: float
    words: float
    reached: float
    index: float

    @property
    def kept_per_1000(self) -> float:
        return self.kept * 1000 / self.view_tokens


async def score(long: LongSession, summarise: Inference, window: int, model: ModelRef = MODEL) -> Score:
    """Replay the session message by message, compact whenever the threshold is reached, and once at the end."""
    settings = Settings.model_validate({"cognition": {"max_context_tokens": window}})
    with TemporaryDirectory() as home:
        replay = _Replay(Path(home), long, summarise, settings, model)
        for message in long.messages:
            await replay.add(message)
        await replay.compact("asked")
        text = _text(replay.view)
        reached = await _recalled(Path(home), long, text)
    kept = [all(a.casefold() in text for a in q.answers) for q in long.questions]
    in_words = [is_kept for q, is_kept in zip(long.questions, kept, strict=True) if not q.identifier]
    return Score(
        session=long.name,
        tokens=replay.count(long.messages),
        view_tokens=replay.count(replay.view),
        compactions=replay.compactions,
        kept=sum(kept) / len(kept),
        words=sum(in_words) / len(in_words),
        reached=sum(reached) / len(reached),
        index=replay.largest_index,
    )


class _Replay:
    """A view that grows and is compacted as a running session's is, with the shipped phases and defaults."""

    def __init__(
        self, home: Path, long: LongSession, summarise: Inference, settings: Settings, model: ModelRef
    ) -> None:
        self._model = model
        self.view: tuple[Message, ...] = ()
        self.compactions, self.largest_index = 0, 0.0
        self._counter, self._settings = CharacterCounter(), settings
        self._originals = {message.id: message for message in long.messages}
        documents = FileDocuments(home, SystemFiles(), SystemClock())
        plugin = CompactorPlugin(CompactorConfig())
        phases = plugin.bumble_compaction_phases(summarise, self._counter, documents, settings)
        passes = settings.cognition.history_compression.compaction_max_passes
        self._compactor = PhasedCompactor(phases, self._counter, passes)

    def count(self, messages: tuple[Message, ...]) -> int:
        return self._counter.count(messages, (), MODEL)

    async def add(self, message: Message) -> None:
        """Take a message; the model is asked after what a person or a tool said."""
        self.view = (*self.view, message)
        if message.role != "assistant" and self.count(self.view) >= self._limit:
            await self.compact("threshold")

    async def compact(self, cause: str) -> None:
        is_asked = cause == "asked"
        before = self._state()
        if is_asked:
            share = self._settings.cognition.history_compression.compaction_target_ratio
            before = replace(before, cause="asked", target=int(min(before.tokens, before.limit) * share))
        after = await self._compactor.compact(before)
        self.compactions += after.messages is not before.messages
        self.view = after.messages
        for summary in (m for m in self.view if m.source == "summary"):
            size = len(", ".join(index_of(summary))) / max(1, len(body_of(summary)))
            self.largest_index = max(self.largest_index, size)

    @property
    def _limit(self) -> int:
        cognition = self._settings.cognition
        return int(cognition.max_context_tokens * cognition.history_compression.compaction_threshold_ratio)

    def _state(self) -> CompactionState:
        cognition = self._settings.cognition
        last = next(m for m in reversed(self.view) if m.role == "user")
        return CompactionState(
            owner="benchmark",
            models=(self._model,),
            messages=self.view,
            tokens=self.count(self.view),
            limit=self._limit,
            target=int(self._limit * cognition.history_compression.compaction_target_ratio),
            window=cognition.max_context_tokens,
            ceiling=cognition.max_context_tokens - cognition.deliberate_max_tokens,
            keep=frozenset({last.id}),
            originals=self._originals,
        )


async def _recalled(home: Path, long: LongSession, view: str) -> list[bool]:
    """Ask `recall` once for each question, in its own words."""
    sessions = SqliteSessions(home, SystemClock())
    turn = Turn(id="t", session_id=long.name, started=_AT, finished=_AT, status="done", messages=long.messages)
    await sessions.restore(long.name, (turn,))
    found = []
    for question in long.questions:
        text = view + "\n".join(await look_up(sessions, long.name, question.text, set())).casefold()
        found.append(all(answer.casefold() in text for answer in question.answers))
    await sessions.aclose()
    return found


def _text(view: tuple[Message, ...]) -> str:
    texts = []
    for message in view:
        texts += [message.text, *(str(call.arguments) for call in message.tool_calls)]
        texts += [result.content for result in message.tool_results]
    return "\n".join(texts).casefold()


def scores(longs: tuple[LongSession, ...], summarisers: Summarisers, window: int) -> tuple[Score, ...]:
    return tuple(asyncio.run(score(long, summarisers(long), window)) for long in longs)
