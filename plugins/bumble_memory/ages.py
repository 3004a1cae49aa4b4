"""Tell which sections of `knowledge.md` were confirmed last, from what they say and from the texts that are kept."""

from __future__ import annotations

import re

import structlog

from bumble_core import is_locked
from bumble_core.errors import DocumentError
from bumble_core.ports import Documents
from bumble_core.types.documents import ABSENT, Document

from .markdown import Section, sections

log = structlog.get_logger(__name__)

KNOWLEDGE = "knowledge.md"

_MOST_READ = 12  # earlier texts; what is older than all of them is old
_CONFIRMED = re.compile(r"confirmed\W{1,4}(\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?)", re.IGNORECASE)


class KnowledgeAges:
    """The sections, the most recently confirmed first. Earlier texts are read when the file has changed, and once."""

    def __init__(self, documents: Documents) -> None:
        self.newest_first: tuple[Section, ...] = ()
        self._documents = documents
        self._version = ABSENT

    async def look(self, document: Document) -> None:
        if document.version == self._version:
            return
        found = sections(document.text)
        ages = await self._ages({section.heading: section for section in found}) if found else {}
        places = range(len(found))
        order = sorted(places, key=lambda place: (_rank(found[place]), ages.get(found[place].heading, ""), place))
        self.newest_first = tuple(found[place] for place in reversed(order))
        self._version = document.version

    async def _ages(self, now: dict[str, Section]) -> dict[str, str]:
        """Return when each section was confirmed: what it says of that, or when its words were last others."""
        ages: dict[str, str] = {}
        try:
            for version in (await self._documents.versions(KNOWLEDGE))[:_MOST_READ]:
                before = await self._documents.read_version(KNOWLEDGE, version.version)
                known = {section.heading: section for section in sections(before.text)}
                for heading, section in now.items():
                    if known.get(heading) != section:
                        ages.setdefault(heading, version.saved_at)
        except DocumentError as error:
            log.warning("knowledge.ages_unknown", error=str(error))
        said = {heading: max(_CONFIRMED.findall(section.body), default="") for heading, section in now.items()}
        return {heading: max(said[heading], ages.get(heading, "")) for heading in now}


def _rank(section: Section) -> int:
    """Put first what the operator locked, then what stands before all headings, which a person wrote."""
    return 2 if is_locked(section.heading) else int(not section.heading)
