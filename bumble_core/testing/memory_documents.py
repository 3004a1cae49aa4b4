"""Documents in memory, for tests of what reads and writes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ..errors import VersionConflict
from ..types.documents import ABSENT, Document, Version


class MemoryDocuments:
    """Fills the `Documents` port; `texts` are what is there at first, by path."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})
        self._kept: list[Document] = []

    async def read(self, path: str) -> Document:
        text = self.texts.get(path)
        version = ABSENT if text is None else hashlib.sha256(text.encode()).hexdigest()
        return Document(path=path, text=text or "", version=version)

    async def write(self, path: str, text: str, expected: str) -> Document:
        before = await self.read(path)
        if before.version != expected:
            raise VersionConflict(f"document `{path}`: expected version `{expected}`, found `{before.version}`")
        self._kept.append(before)
        self.texts[path] = text
        return await self.read(path)

    async def list(self, folder: str = "") -> tuple[str, ...]:
        return tuple(sorted(path for path in self.texts if not folder or path.startswith(f"{folder.rstrip('/')}/")))

    async def versions(self, path: str) -> tuple[Version, ...]:
        kept = [each for each in self._kept if each.path == path and each.version != ABSENT]
        return tuple(Version(path=path, version=each.version, saved_at="") for each in reversed(kept))

    async def read_version(self, path: str, version: str) -> Document:
        return next(
            each for each in (*self._kept, await self.read(path)) if (each.path, each.version) == (path, version)
        )
