"""Two speeds: a short answer at once, or a long one with thought."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from bumble_core import PluginConfig, Settings, hookimpl
from bumble_core.languages import Lexicon, read_packs
from bumble_core.ports import Router, SignalSource
from bumble_core.types.inference import Profile
from bumble_core.types.languages import LanguagePack
from bumble_core.types.turn import Route, TurnInput

INTENSITY = "intensity"
_LANGUAGES = Path(__file__).parent / "languages"


class RouterConfig(PluginConfig):
    """When a message is answered by reflex."""

    reflex_below_chars: int = Field(
        default=80, ge=0, description="Messages shorter than this, in characters, are answered by reflex."
    )
    reflex_below_intensity: float = Field(
        default=0.6, ge=0, le=1, description="Messages of this intensity or more are answered with thought."
    )


class LengthRouter:
    """Reflex when the message is short and calm, asks for no work and a person wrote it; deliberate otherwise."""

    def __init__(self, own: RouterConfig, languages: tuple[LanguagePack, ...], settings: Settings) -> None:
        self._lexicon = Lexicon(languages)
        self._own, self._always_deliberate = own, settings.agent.always_deliberate
        cognition = settings.cognition
        self._reflex = Profile(name="reflex", max_tokens=cognition.reflex_max_tokens, temperature=cognition.temperature)
        self._deliberate = Profile(
            name="deliberate",
            max_tokens=cognition.deliberate_max_tokens,
            thinking=True,
            temperature=cognition.temperature,
        )

    async def route(self, input: TurnInput) -> Route:
        length, intensity = len(input.message.text.strip()), input.signals.get(INTENSITY, 0.0)
        if self._always_deliberate:
            return _route(input, self._deliberate, "agent.always_deliberate is set", "forced")
        if input.origin != "user":
            return _route(input, self._deliberate, f"the input comes from {input.origin}", "forced")
        if length >= self._own.reflex_below_chars:
            return _route(input, self._deliberate, f"{length} characters")
        if intensity >= self._own.reflex_below_intensity:
            return _route(input, self._deliberate, f"intensity {intensity:.2f}")
        if "work" in self._lexicon.names(input.message.text):
            return _route(input, self._deliberate, "it asks for work")
        return _route(input, self._reflex, f"{length} characters, intensity {intensity:.2f}")


class TextIntensity:
    """Estimates intensity from the form of the text alone, so in any language: exclamation and capitals."""

    async def read(self, input: TurnInput) -> Mapping[str, float]:
        text = input.message.text
        marks = sum(text.count(mark) for mark in "!！¡‼")
        letters = [character for character in text if character.isupper() or character.islower()]
        shouted = sum(character.isupper() for character in letters) / len(letters) if len(letters) >= 8 else 0.0
        return {INTENSITY: min(1.0, 0.2 * marks + (shouted if shouted > 0.6 else 0.0))}


class RouterPlugin:
    Config = RouterConfig

    def __init__(self, config: RouterConfig) -> None:
        self._config = config

    @hookimpl(trylast=True)
    def bumble_router(self, languages: tuple[LanguagePack, ...], settings: Settings) -> Router:
        return LengthRouter(self._config, languages, settings)

    @hookimpl
    def bumble_languages(self) -> tuple[LanguagePack, ...]:
        return read_packs(_LANGUAGES)

    @hookimpl(trylast=True)
    def bumble_signals(self) -> list[SignalSource]:
        return [TextIntensity()]


def _route(
    input: TurnInput, profile: Profile, reason: str, decided_by: Literal["forced", "heuristic"] = "heuristic"
) -> Route:
    return Route(profile=profile, models=input.models, decided_by=decided_by, reason=reason)
