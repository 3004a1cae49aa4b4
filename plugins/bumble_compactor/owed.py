"""What a flush could not cover is owed: a list in the memory, and a job that works it off from the log."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pydantic import BaseModel, TypeAdapter, ValidationError

from bumble_core import InferenceError
from bumble_core.ports import Inference, Sessions, TokenCounter
from bumble_core.types.jobs import JobResult, JobView, Write

from .declared import FLUSH_OWED, KNOWLEDGE, OWED
from .extract import SHARE_OF_RECORD, extract
from .knowledge import Fact, with_facts
from .transcript import sections

_SECTIONS_PER_RUN = 4


class Debt(BaseModel):
    """Messages of one session that no flush has seen, by their ids."""

    session: str
    messages: list[str]


_DEBTS = TypeAdapter(list[Debt])


def with_owed(text: str, session: str, ids: Sequence[str]) -> str:
    """Return the list with what is owed added; an id stands there once."""
    debts = _read(text)
    mine = next((debt for debt in debts if debt.session == session), None)
    if mine is None:
        mine = Debt(session=session, messages=[])
        debts.append(mine)
    mine.messages = list(dict.fromkeys((*mine.messages, *ids)))
    return _written(debts)


class FlushOwed:
    """Reads the log, not the turns of its view: what is owed may be of any age."""

    spec = FLUSH_OWED

    def __init__(self, inference: Inference, sessions: Sessions, counter: TokenCounter, window: int) -> None:
        self._inference, self._sessions = inference, sessions
        self._counter, self._window = counter, window

    async def run(self, view: JobView) -> JobResult:
        """Flush the oldest debts.

        Raises:
            InferenceError: no model answered, or not with a list of facts; nothing is struck off then.
        """
        debts = _read(view.documents[OWED].text)
        if not debts:
            return JobResult(summary="nothing is owed", read=len(view.turns))
        if not view.models:
            raise InferenceError("no model is configured; name one under `agent.models`")
        debt, facts, covered = debts[0], list[Fact](), 0
        originals = await self._sessions.originals(debt.session, debt.messages)
        found = [originals[id] for id in debt.messages if id in originals]
        budget = int(self._window * SHARE_OF_RECORD)
        parts = sections(found, {}, budget, self._counter, view.models[0])[:_SECTIONS_PER_RUN]
        for part in parts:
            extracted, _ = await extract(
                self._inference,
                part.text,
                owner=view.run_id,
                purpose="job",
                models=view.models,
                window=self._window,
            )
            facts += extracted
            covered = part.end
        rest = [message.id for message in found[covered:]] if parts else []
        left = [*([Debt(session=debt.session, messages=rest)] if rest else []), *debts[1:]]
        knowledge = view.documents[KNOWLEDGE].text
        writes = (Write(path=KNOWLEDGE, text=with_facts(knowledge, facts)), Write(path=OWED, text=_written(left)))
        return JobResult(
            summary=f"flushed {len(found) - len(rest)} messages of `{debt.session}`, {len(facts)} facts",
            read=len(view.turns),
            writes=writes,
            removed=(view.documents[OWED].text,),
        )


def _read(text: str) -> list[Debt]:
    try:
        return _DEBTS.validate_json(text) if text.strip() else []
    except ValidationError:
        return []


def _written(debts: list[Debt]) -> str:
    return json.dumps([debt.model_dump() for debt in debts], ensure_ascii=False, indent=1) + "\n"
