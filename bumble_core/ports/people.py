"""Where a person reads and writes, who watches, and what the user chose."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..types.events import Event
from ..types.inference import Delta, ModelRef
from ..types.surfaces import Answer, Delivery, Question
from ..types.turn import TurnContext


@runtime_checkable
class Surface(Protocol):
    """A place where a person reads and writes.

    Only what `deliver` reports as delivered counts as seen. A surface that cannot take a draft back sets
    `takes_drafts` to False and gets none: a chat platform, a pipe. It shows whole messages as they come, so where the
    model has spoken through `say` and done nothing else, what it writes beside that is not delivered. `ask` answers
    with `answered=False` where nobody can be asked.
    """

    @property
    def name(self) -> str: ...
    @property
    def takes_drafts(self) -> bool: ...
    async def draft(self, delta: Delta, turn: TurnContext) -> None: ...
    async def withdraw(self, turn: TurnContext) -> None: ...
    async def deliver(self, text: str, turn: TurnContext) -> Delivery: ...
    async def ask(self, question: Question, turn: TurnContext) -> Answer: ...


@runtime_checkable
class Observer(Protocol):
    """Must not block and cannot alter anything; what it raises is logged and dropped."""

    def notify(self, event: Event) -> None: ...


class Emit(Protocol):
    """Tell every observer."""

    def __call__(self, event: Event) -> None: ...


class ModelChoices(Protocol):
    """Models that the user chose at run time; they survive a restart.

    `role` is `interactive` or a job's id; an empty choice falls back to the configuration.
    """

    def chosen(self, role: str) -> tuple[ModelRef, ...]: ...
    async def choose(self, role: str, models: tuple[ModelRef, ...]) -> None: ...
