"""Put words in front of the person: drafts while they come, and texts that count once they are delivered."""

from __future__ import annotations

import asyncio

import structlog

from .consent import question_about
from .contract import FAULTS, kept
from .patience import Patience
from .ports import Emit, Surface
from .types.events import Said
from .types.inference import Delta
from .types.messages import ToolCall
from .types.surfaces import Answer, Delivery
from .types.turn import TurnContext

log = structlog.get_logger(__name__)

_LONGEST_S = 30.0  # for a surface to take one text; a person who is asked has the whole turn


class Mouth:
    """One turn's way to its surface. A surface that fails is an undelivered text, never a broken turn."""

    def __init__(self, surface: Surface, emit: Emit) -> None:
        self._surface, self._emit = surface, emit
        self._has_draft = False
        self._patience = Patience()

    @property
    def speaks_in_messages(self) -> bool:
        """True where the person reads whole messages as they come, and never a piece that may be taken back."""
        return not self._surface.takes_drafts

    async def draft(self, delta: Delta, turn: TurnContext) -> None:
        """Show a piece of text that may still be taken back."""
        if not self._surface.takes_drafts or not (delta.text or delta.thinking):
            return
        self._has_draft = True
        try:
            with self._patience.of(_LONGEST_S):
                await self._surface.draft(delta, turn)
        except FAULTS as error:
            log.warning("surface.draft_failed", surface=self._surface.name, error=repr(error))

    async def withdraw(self, turn: TurnContext) -> None:
        """Take back what was drafted and not delivered."""
        if not self._has_draft:
            return
        self._has_draft = False
        try:
            async with asyncio.timeout(_LONGEST_S):
                await self._surface.withdraw(turn)
        except FAULTS as error:
            log.warning("surface.withdraw_failed", surface=self._surface.name, error=repr(error))

    async def deliver(self, text: str, turn: TurnContext) -> tuple[TurnContext, Delivery]:
        """Hand over a text; the returned turn counts it only when the surface says that it arrived."""
        self._has_draft = False
        try:
            async with asyncio.timeout(_LONGEST_S):
                delivery = kept(await self._surface.deliver(text, turn), Delivery, "`deliver`")
        except FAULTS as error:
            log.warning("surface.deliver_failed", surface=self._surface.name, error=repr(error))
            delivery = Delivery(delivered=False, problem=f"{type(error).__name__}: {error}")
        self._emit(Said(turn.input.id, text, delivery))
        return (turn.told(text) if delivery.delivered else turn), delivery

    async def approve(self, call: ToolCall, turn: TurnContext) -> Answer:
        """Ask whether a call may run; `answered` is False where nobody can be asked."""
        try:
            return kept(await self._surface.ask(question_about(call), turn), Answer, "`ask`")
        except FAULTS as error:
            log.warning("surface.ask_failed", surface=self._surface.name, error=repr(error))
            return Answer(answered=False)
