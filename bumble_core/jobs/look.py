"""Find out what a job's triggers have to know."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ..ports import Documents, Sessions
from ..types.documents import Document
from ..types.jobs import JobSpec, JobState, Situation, When


async def look(spec: JobSpec, state: JobState, sessions: Sessions, documents: Documents, at: datetime) -> Situation:
    """Return the situation of one job; only what its conditions name is read."""
    conditions = [trigger.condition for trigger in spec.triggers if isinstance(trigger, When)]
    reads = [path for condition in conditions for path in condition.reads]
    infos = await sessions.list() if conditions else ()
    return Situation(
        at=at,
        unread=await sessions.count(after=state.cursor),
        last_turn=max((info.updated for info in infos), default=None),
        documents=await read_all(documents, reads),
        note=state.note,
    )


async def read_all(documents: Documents, paths: Iterable[str]) -> dict[str, Document]:
    """Read documents by path; one that ends in `/` stands for all below it."""
    wanted: dict[str, None] = {}
    for path in paths:
        wanted |= dict.fromkeys(await documents.list(path.rstrip("/")) if path.endswith("/") else (path,))
    return {path: await documents.read(path) for path in wanted}
