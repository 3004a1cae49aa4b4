"""Answer with the deliberate profile at night, whatever the router says."""

from __future__ import annotations

from collections.abc import Generator
from typing import Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator, model_validator

from bumble_core import PluginConfig, Settings, hookimpl
from bumble_core.ports import Router
from bumble_core.types.inference import Profile
from bumble_core.types.turn import Route, TurnInput

__all__ = ["NightOwlConfig", "NightOwlPlugin"]


class NightOwlConfig(PluginConfig):
    """When it is night: from `start_hour` on, up to but not in `end_hour`. A night may span midnight."""

    start_hour: int = Field(default=22, ge=0, le=23, description="The first hour of the night.")
    end_hour: int = Field(default=6, ge=0, le=23, description="The first hour of the day.")
    timezone: str = Field(default="UTC", description="Where the hours are meant, for example `Europe/Rome`.")

    @field_validator("timezone")
    @classmethod
    def _exists(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"there is no time zone `{name}`") from error
        return name

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.start_hour == self.end_hour:
            raise ValueError("`start_hour` and `end_hour` are the same, so there is no night")
        return self

    def is_night(self, hour: int) -> bool:
        if self.start_hour < self.end_hour:
            return self.start_hour <= hour < self.end_hour
        return hour >= self.start_hour or hour < self.end_hour


class NightOwl:
    """A router that thinks twice at night and leaves the day to the router that it wraps."""

    def __init__(self, inner: Router, own: NightOwlConfig, deliberate: Profile) -> None:
        self._inner, self._own, self._deliberate = inner, own, deliberate

    async def route(self, input: TurnInput) -> Route:
        route = await self._inner.route(input)
        hour = input.started.astimezone(ZoneInfo(self._own.timezone)).hour
        if not self._own.is_night(hour) or route.profile.name == self._deliberate.name:
            return route
        reason = f"it is night: {hour} o'clock in {self._own.timezone}"
        return route.model_copy(update={"profile": self._deliberate, "decided_by": "forced", "reason": reason})


class NightOwlPlugin:
    """Wraps whichever router fills the slot."""

    Config = NightOwlConfig

    def __init__(self, config: NightOwlConfig) -> None:
        self._config = config

    @hookimpl(wrapper=True)
    def bumble_router(self, settings: Settings) -> Generator[None, Router, Router]:
        inner = yield
        cognition = settings.cognition
        deliberate = Profile(
            name="deliberate",
            max_tokens=cognition.deliberate_max_tokens,
            thinking=True,
            temperature=cognition.temperature,
        )
        return NightOwl(inner, self._config, deliberate)
