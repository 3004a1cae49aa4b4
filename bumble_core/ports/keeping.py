"""What is kept: conversations and memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, runtime_checkable

from ..types.documents import Document, Version
from ..types.messages import Message
from ..types.sessions import Hit, Session, SessionInfo
from ..types.turn import Turn, TurnInput


@runtime_checkable
class Sessions(Protocol):
    """The log and the view of every conversation, durable at each step.

    `open` waits for the session's lease, which a dead process gives up, and closes turns that a dead process left
    open as `interrupted`, answering their open calls. All other methods of a turn are called while it is held.

    `begin` makes the input durable. `append` adds messages to the log of an open turn, all or
    none of them. `finish` closes the turn;
    `view` is given only when it is no longer the former view and what was appended, that is after a compaction.
    `turns` lists finished turns in the order of their numbers, which count all turns of the home from 1. `search`
    finds literal text, any case, in any script. `originals` gives messages as they were before a compaction shortened
    them, by id; unknown ids are left out. `restore` writes turns of another home into a session.

    Raises:
        SessionBusy: `open` waited `wait_s` in vain.
    """

    def open(self, session_id: str, wait_s: float) -> AbstractAsyncContextManager[None]: ...
    async def resume(self, session_id: str) -> Session: ...
    async def begin(self, input: TurnInput) -> None: ...
    async def append(self, turn_id: str, *messages: Message) -> None: ...
    async def finish(self, turn: Turn, view: tuple[Message, ...] | None) -> Turn: ...
    async def turns(
        self, after: int = 0, session_id: str | None = None, limit: int | None = None
    ) -> tuple[Turn, ...]: ...
    async def count(self, after: int = 0) -> int: ...
    async def search(self, text: str, session_id: str | None = None, limit: int = 20) -> tuple[Hit, ...]: ...
    async def originals(self, session_id: str, ids: Collection[str]) -> Mapping[str, Message]: ...
    async def list(self) -> tuple[SessionInfo, ...]: ...
    async def restore(self, session_id: str, turns: tuple[Turn, ...]) -> None: ...
    async def delete(self, session_id: str) -> int: ...


@runtime_checkable
class Documents(Protocol):
    """Text files of the agent's memory, under `memory/` of the home; paths are relative to it, with `/`.

    `read` of a missing file gives an empty text with the version `ABSENT`. `write` succeeds only when the file still
    has the version `expected`, and keeps what it replaced among `versions`.

    Raises:
        VersionConflict: somebody wrote the file meanwhile.
        ContractError: the path leaves the memory folder.
    """

    async def read(self, path: str) -> Document: ...
    async def write(self, path: str, text: str, expected: str) -> Document: ...
    async def list(self, folder: str = "") -> tuple[str, ...]: ...
    async def versions(self, path: str) -> tuple[Version, ...]: ...
    async def read_version(self, path: str, version: str) -> Document: ...


@runtime_checkable
class Stamped(Protocol):
    """Documents that can tell that nothing changed without reading anything.

    `stamps` gives a stamp for each document among `paths` and below the folders among them; one that is not there has
    none. While a stamp is the same, so is the text.
    """

    async def stamps(self, paths: Sequence[str]) -> Mapping[str, str]: ...


@runtime_checkable
class Tidied(Protocol):
    """Documents among which killed writes may leave something: `tidy` removes it, when a runtime starts."""

    async def tidy(self) -> None: ...
