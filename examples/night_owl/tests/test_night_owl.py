"""Night and day, seen from outside: through `assemble`, with a scripted model and a clock that stands still."""

from __future__ import annotations

from pathlib import Path

import pytest
from bumble_night_owl import NightOwlConfig, NightOwlPlugin
from pydantic import ValidationError

from bumble_core import Settings, Turn, assemble, assistant
from bumble_core.testing import ScriptedProvider, StillClock


def turn_at(hour: int, home: Path, config: NightOwlConfig) -> Turn:
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
    plugins = {"scripted": ScriptedProvider([assistant("Hello.")]), "night_owl": NightOwlPlugin(config)}
    clock = StillClock(f"2026-06-15T{hour:02}:30:00")
    with assemble(settings, plugins=plugins, clock=clock, run_jobs=False) as runtime:
        return runtime.answer_sync("hi")


@pytest.mark.parametrize(
    ("hour", "profile"),
    [(21, "reflex"), (22, "deliberate"), (3, "deliberate"), (5, "deliberate"), (6, "reflex"), (12, "reflex")],
)
def test_a_short_message_is_deliberate_only_at_night(hour: int, profile: str, tmp_path: Path) -> None:
    route = turn_at(hour, tmp_path, NightOwlConfig()).route
    assert route is not None
    assert route.profile.name == profile


def test_the_reason_tells_the_hour(tmp_path: Path) -> None:
    route = turn_at(23, tmp_path, NightOwlConfig()).route
    assert route is not None
    assert (route.decided_by, route.reason) == ("forced", "it is night: 23 o'clock in UTC")


def test_hours_are_meant_in_the_time_zone(tmp_path: Path) -> None:
    config = NightOwlConfig(start_hour=1, end_hour=4, timezone="Asia/Tokyo")
    route = turn_at(17, tmp_path, config).route  # 02:30 in Tokyo
    assert route is not None
    assert route.profile.name == "deliberate"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"start_hour": 24}, "start_hour"),
        ({"start_hour": 5, "end_hour": 5}, "there is no night"),
        ({"timezone": "Europe/Atlantis"}, "there is no time zone `Europe/Atlantis`"),
        ({"timezone": "../etc"}, "there is no time zone `../etc`"),
        ({"hour": 5}, "hour"),
    ],
    ids=["no-such-hour", "no-length", "no-such-zone", "not-a-zone", "unknown-key"],
)
def test_configuration_that_makes_no_sense_is_refused(section: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        NightOwlConfig.model_validate(section)
