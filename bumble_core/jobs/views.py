"""Build what a job gets to see."""

from __future__ import annotations

from dataclasses import dataclass

from ..ports import Clock, Documents, Sessions, TokenCounter
from ..types.inference import ModelRef
from ..types.jobs import JobSpec, JobState, JobView, RunRecord
from ..types.messages import user
from ..types.turn import Turn
from .look import read_all

_SHARE = 0.5  # of the window: the rest is for the job's own words and for the reply
_LEAST = 0.125  # of the window, however long the documents are
_MOST_TURNS = 50


@dataclass(frozen=True, slots=True)
class Views:
    """`window` is what a request may fill, in tokens.

    Where no model is configured, a job asks those that the conversation found.
    """

    sessions: Sessions
    documents: Documents
    counter: TokenCounter
    clock: Clock
    window: int

    async def build(self, spec: JobSpec, state: JobState, record: RunRecord) -> JobView:
        """Return the documents and the oldest turns after the cursor that fit a request beside them."""
        documents = await read_all(self.documents, (*spec.inputs, *spec.outputs))
        turns = await self.sessions.turns(after=state.cursor, limit=_MOST_TURNS)
        models = record.models or _asked_last(turns)
        model = models[0] if models else None
        taken = self.counter.count(tuple(user(each.text) for each in documents.values()), (), model)
        room = max(int(self.window * _SHARE) - taken, int(self.window * _LEAST))
        return JobView(
            run_id=record.id,
            at=self.clock.now(),
            turns=self._fitting(turns, room, model),
            unread=await self.sessions.count(after=state.cursor),
            documents=documents,
            models=models,
            room_tokens=room,
            note=state.note,
        )

    def _fitting(self, turns: tuple[Turn, ...], room: int, model: ModelRef | None) -> tuple[Turn, ...]:
        for shown, turn in enumerate(turns):
            room -= self.counter.count(turn.messages, (), model)
            if room < 0:
                return turns[: max(1, shown)]
        return turns


def _asked_last(turns: tuple[Turn, ...]) -> tuple[ModelRef, ...]:
    return next((turn.route.models for turn in reversed(turns) if turn.route is not None), ())
