"""Keep durable facts of the middle in `memory/knowledge.md` before it is summarised away."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from bumble_core import InferenceError, Message
from bumble_core.errors import VersionConflict
from bumble_core.ports import Documents, Inference
from bumble_core.types.compaction import CompactionState

from .bounds import Protected
from .declared import KNOWLEDGE, OWED
from .extract import SHARE_OF_RECORD, extract
from .knowledge import with_facts
from .owed import with_owed
from .transcript import sections

log = structlog.get_logger(__name__)

_ATTEMPTS = 3  # at a file that somebody else writes
_LEAST_SHARE = 4  # of what one request may show; for less no model is asked, it is owed
_MOST_SESSIONS = 1000  # whose messages are remembered


class Flush:
    """Best effort, first pass only: one request. What it does not cover is owed, and a job sees to it later.

    A message that was seen to once is not shown again, however often its session is compacted with it.
    """

    def __init__(
        self, inference: Inference, documents: Documents, protected: Protected, window: int, *, is_on: bool = True
    ) -> None:
        self._inference, self._documents = inference, documents
        self._protected, self._window, self._is_on = protected, window, is_on
        self._seen: dict[str, frozenset[str]] = {}

    async def run(self, state: CompactionState) -> CompactionState:
        bounds = self._protected.find(state) if self._is_on and state.pass_number == 0 else None
        if bounds is None:
            return state
        middle = [m for m in state.messages[bounds.head : bounds.tail] if m.source != "summary"]
        seen = self._seen.pop(state.session, frozenset())
        fresh, covered = [m for m in middle if m.id not in seen], 0
        try:
            covered = await self._flushed(state, fresh, is_first=not seen)
        except (InferenceError, VersionConflict) as error:
            log.warning("compaction.flush_failed", error=f"{type(error).__name__}: {error}")
        await self._owe(state, fresh[covered:])
        self._remember(state.session, middle)
        return state

    async def _flushed(self, state: CompactionState, fresh: list[Message], *, is_first: bool) -> int:
        """Flush the oldest messages, as many as one request can show; return how many those are."""
        window = min(self._window, state.window or self._window)
        budget = int(window * SHARE_OF_RECORD)
        parts = sections(fresh, state.originals, budget, self._protected.counter, state.models[0])
        if not parts:
            return len(fresh)
        first = parts[0]
        if not is_first and first.tokens * _LEAST_SHARE < budget:
            return 0
        facts, _ = await extract(
            self._inference, first.text, owner=state.owner, purpose="compact", models=state.models, window=window
        )
        if facts:
            await self._write(KNOWLEDGE, lambda text: with_facts(text, facts))
        return first.end

    def _remember(self, session: str, middle: list[Message]) -> None:
        if session:
            self._seen[session] = frozenset(message.id for message in middle)
        if len(self._seen) > _MOST_SESSIONS:
            del self._seen[next(iter(self._seen))]

    async def _owe(self, state: CompactionState, messages: list[Message]) -> None:
        if not messages or not state.session:
            return
        ids = [message.id for message in messages]
        try:
            await self._write(OWED, lambda text: with_owed(text, state.session, ids))
        except VersionConflict as error:
            log.warning("compaction.debt_not_recorded", messages=len(ids), error=str(error))

    async def _write(self, path: str, change: Callable[[str], str]) -> None:
        for attempt in range(_ATTEMPTS):
            document = await self._documents.read(path)
            text = change(document.text)
            if text == document.text:
                return
            try:
                await self._documents.write(path, text, document.version)
            except VersionConflict:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
