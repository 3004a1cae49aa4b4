"""Find out what a job's triggers have to know."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from ..errors import DocumentError
from ..ports import Documents, Sessions
from ..types.documents import Document
from ..types.jobs import JobSpec, JobState, Situation, When


@dataclass(frozen=True, slots=True)
class Look:
    """What all jobs share at one moment; only what a job's conditions name is read beside it."""

    sessions: Sessions
    documents: Documents
    at: datetime
    last_turn: datetime | None

    @classmethod
    async def now(cls, sessions: Sessions, documents: Documents, at: datetime) -> Look:
        infos = await sessions.list()
        return cls(sessions, documents, at, max((info.updated for info in infos), default=None))

    async def at_job(self, spec: JobSpec, state: JobState) -> Situation:
        return Situation(
            at=self.at,
            unread=await self.sessions.count(after=state.cursor),
            last_turn=self.last_turn,
            documents=await watched_by(spec, self.documents),
            note=state.note,
        )


async def watched_by(spec: JobSpec, documents: Documents) -> dict[str, Document]:
    """Read the documents that the job's conditions name."""
    conditions = [trigger.condition for trigger in spec.triggers if isinstance(trigger, When)]
    return await read_all(documents, (path for condition in conditions for path in condition.reads))


async def read_all(documents: Documents, paths: Iterable[str]) -> dict[str, Document]:
    """Read documents by path; one that ends in `/` stands for all below it that are text."""
    found: dict[str, Document] = {}
    for path in paths:
        if not path.endswith("/"):
            found[path] = await documents.read(path)
            continue
        for each in await documents.list(path.rstrip("/")):
            with suppress(DocumentError):  # a picture beside a skill, say
                found[each] = await documents.read(each)
    return found
