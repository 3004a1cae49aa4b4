"""The sections of a character in the prompt."""

from __future__ import annotations

from typing import Literal

from bumble_core.types.turn import TurnContext

from .character import Character
from .moods import MOOD, Moods
from .writing import Writer

_HEAD = "Your character, in your own words. It is how you speak; what is true and what tools gave stays as it is."


class Monologue:
    """Who the entity is. The mood goes into it coarsely, so that only a significant change compiles it again."""

    placement: Literal["system", "turn"] = "system"
    place = 20

    def __init__(self, character: Character, writer: Writer | None) -> None:
        self._character, self._writer = character, writer
        self._moods = Moods()

    async def look(self, turn: TurnContext) -> None:
        if self._writer is not None:
            await self._writer.look()

    def key(self, turn: TurnContext) -> str:
        fingerprint = self._character.fingerprint(self._mood(turn))
        return fingerprint if self._writer is None else f"{fingerprint} {self._writer.edition(fingerprint)}"

    async def render(self, turn: TurnContext) -> str:
        mood = self._mood(turn)
        text = self._character.monologue(mood)
        if self._writer is not None:
            text = await self._writer.written(self._character, mood, turn) or text
        return f"{_HEAD}\n\n{text}"

    def _mood(self, turn: TurnContext) -> str:
        return self._moods.of(turn.input.session_id, turn.input.signals.get(MOOD))


class VoiceRules:
    """How the entity speaks."""

    placement: Literal["system", "turn"] = "system"
    place = 30

    def __init__(self, character: Character) -> None:
        self._rules = character.rules()

    def key(self, turn: TurnContext) -> str:
        return self._rules

    async def render(self, turn: TurnContext) -> str:
        return f"How you speak:\n{self._rules}"


class BodyState:
    """What is sensed of this message, as numbers from 0 to 1."""

    placement: Literal["system", "turn"] = "turn"
    place = 70

    def key(self, turn: TurnContext) -> str:
        return repr(sorted(turn.input.signals.items()))

    async def render(self, turn: TurnContext) -> str:
        sensed = ", ".join(f"{name} {value:.1f}" for name, value in sorted(turn.input.signals.items()) if value >= 0.05)
        return f"Sensed, from 0 to 1: {sensed}." if sensed else ""
