"""Keep the latest texts of documents at hand, reading only what changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog

from .errors import ContractError, DocumentError
from .ports import Documents, Stamped
from .types.documents import ABSENT, Document

log = structlog.get_logger(__name__)


class WatchedDocuments:
    """Documents by path, as they were at the last `look`; `paths` may name folders.

    Where the documents tell stamps, a look reads nothing that did not change. One that cannot be read is passed over.
    """

    def __init__(self, documents: Documents, *paths: str, wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._documents, self._paths, self._wanted = documents, paths, wanted
        self._known: dict[str, tuple[str, Document]] = {}

    @property
    def found(self) -> Mapping[str, Document]:
        """Return what is there, by path, in the order of the paths."""
        known = ((path, document) for path, (_, document) in sorted(self._known.items()))
        return {path: document for path, document in known if document.version != ABSENT}

    def text(self, path: str) -> str:
        return self.document(path).text

    def document(self, path: str) -> Document:
        """Return the document, which is empty and `ABSENT` when it is not there."""
        return self._known[path][1] if path in self._known else Document(path=path, text="", version=ABSENT)

    async def look(self) -> None:
        stamps = await self._stamps()
        for path in self._known.keys() - stamps.keys():
            del self._known[path]
        for path, stamp in stamps.items():
            if path not in self._known or not stamp or self._known[path][0] != stamp:
                await self._read(path, stamp)

    async def _read(self, path: str, stamp: str) -> None:
        try:
            found = await self._documents.read(path)
        except (ContractError, DocumentError) as error:  # a link that leaves the memory is refused when it is read
            log.warning("document.passed_over", path=path, error=str(error))
            found = Document(path=path, text="", version=ABSENT)
        known = self._known.get(path)
        self._known[path] = (stamp, known[1] if known and known[1].version == found.version else found)

    async def _stamps(self) -> dict[str, str]:
        """Return the stamp of each document that is wanted; without a word where it has to be read to be known."""
        if isinstance(self._documents, Stamped):
            stamps = await self._documents.stamps(self._paths)
            return {path: stamp for path, stamp in stamps.items() if self._wanted(path)}
        below = [one for path in self._paths for one in (await self._documents.list(path) or (path,))]
        return {path: "" for path in below if self._wanted(path)}
