"""Tools that read the memory: one document, or whatever fits a question."""

from __future__ import annotations

import asyncio
import difflib
from typing import Annotated

from pydantic import Field

from bumble_core import ContractError, ToolError, WatchedDocuments, tool
from bumble_core.errors import DocumentError
from bumble_core.ports import Documents, Tool
from bumble_core.types.documents import ABSENT, Document

from .markdown import Passage, passages
from .relevance import Corpus, terms

_ROOT = "memory/"
_MOST_HITS = 10
_LONGEST_EXCERPT = 400
_MOST_LISTED = 200

Found = tuple[str, Passage]


class MemoryTools:
    """`read_memory` and `search_memory`; what they give is what stands in the files now."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._all = WatchedDocuments(documents, "")
        self._passages: dict[str, tuple[str, tuple[Passage, ...]]] = {}

    def offered(self) -> list[Tool]:
        return [tool(self.read_memory), tool(self.search_memory)]

    async def read_memory(
        self, path: Annotated[str, Field(description="For example semantic/facts.md; a folder lists what is in it.")]
    ) -> str:
        """Read a document of your memory: knowledge, working memory, facts, preferences, skills, earlier reviews."""
        name = path.strip().lstrip("/").removeprefix(_ROOT).rstrip("/")
        name = "" if name in (".", "memory") else name
        try:
            if name and (document := await self._document(name)).version != ABSENT:
                return document.text or "the document is empty"
            below = await self._documents.list(name)
        except (ContractError, DocumentError) as error:
            raise ToolError(str(error)) from error
        if not below:
            raise ToolError(await self._missing(name))
        rest = [f"… and {len(below) - _MOST_LISTED} more"] if len(below) > _MOST_LISTED else []
        return "\n".join([*below[:_MOST_LISTED], *rest])

    async def search_memory(
        self, query: Annotated[str, Field(description="Words that should stand there, or a part of the text itself.")]
    ) -> str:
        """Search all documents of your memory; gives the places that fit best, to read on with read_memory."""
        if not query.strip():
            raise ToolError("`query` is empty; say what to search for")
        await self._all.look()
        places = self._places()
        ranked = await asyncio.to_thread(_ranked, [passage.text for _, passage in places], query)
        if not ranked:
            return f"nothing in {len(self._all.found)} documents of your memory fits"
        return "\n".join(_shown(*places[place]) for place in ranked[:_MOST_HITS])

    def _places(self) -> list[Found]:
        """Return every passage with its path; a document is taken apart once for each of its versions."""
        found = self._all.found
        for path, document in found.items():
            if path not in self._passages or self._passages[path][0] != document.version:
                self._passages[path] = (document.version, passages(document.text))
        return [(path, passage) for path in found for passage in self._passages[path][1]]

    async def _document(self, name: str) -> Document:
        """Return what is there under a name; nothing under that of a folder."""
        try:
            return await self._documents.read(name)
        except DocumentError:
            if await self._documents.list(name):
                return Document(path=name, text="", version=ABSENT)
            raise

    async def _missing(self, name: str) -> str:
        known = await self._documents.list()
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        advice = f"did you mean {', '.join(f'`{one}`' for one in near)}?" if near else "list all with path `.`"
        return f"no document `{name}` in your memory; {advice}"


def _ranked(texts: list[str], query: str) -> list[int]:
    """Return the places of texts that hold the query as it stands, then of those that share words with it."""
    wanted = " ".join(query.split()).casefold()
    literal = [place for place, text in enumerate(texts) if wanted in " ".join(text.split()).casefold()]
    return list(dict.fromkeys((*literal, *Corpus([terms(text) for text in texts]).ranked(terms(query)))))


def _shown(path: str, passage: Passage) -> str:
    line = " ".join(passage.text.split())
    excerpt = line if len(line) <= _LONGEST_EXCERPT else f"{line[:_LONGEST_EXCERPT]}…"
    heading = f" ({passage.heading})" if passage.heading else ""
    return f"{path}:{passage.line}{heading}: {excerpt}"
