"""Tune, wrap and replace the router, in ten lines each.

Run it: `python examples/routers.py`. Its model is scripted, so that it runs anywhere.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator
from pathlib import Path

from bumble_core import Settings, assemble, assistant, hookimpl
from bumble_core.ports import Router
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import Profile
from bumble_core.types.languages import LanguagePack
from bumble_core.types.turn import Route, TurnInput


class PirateWords:
    """Tunes: the shipped router learns words."""

    @hookimpl
    def bumble_languages(self) -> list[LanguagePack]:
        return [LanguagePack(language="en", lists={"courtesy": ("ahoy",), "work": ("hoist",), "thing": ("sail*",)})]


class Hurried:
    """Wraps: who says that it is quick gets a short answer."""

    @hookimpl(wrapper=True)
    def bumble_router(self) -> Generator[None, Router, Router]:
        self._inner = yield
        return self

    async def route(self, input: TurnInput) -> Route:
        route, is_quick = await self._inner.route(input), input.message.text.startswith("Quick:")
        return route.model_copy(update={"profile": Profile(name="reflex", max_tokens=200)}) if is_quick else route


class Terse:
    """Replaces: every answer is short."""

    @hookimpl
    def bumble_router(self) -> Router:
        return self

    async def route(self, input: TurnInput) -> Route:
        profile = Profile(name="terse", max_tokens=64)
        return Route(profile=profile, models=input.models, decided_by="forced", reason="always terse")


async def show(home: Path, text: str, **plugins: object) -> None:
    router = {"router": {"classifier": False}}
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home, "plugins": router})
    offered = {"scripted": ScriptedProvider([assistant("So be it.")]), **plugins}
    async with assemble(settings, plugins=offered, run_jobs=False) as runtime:
        route = (await runtime.answer(text)).route
        if route is not None:
            print(f"{', '.join(plugins) or 'shipped'}: {route.profile.name}, {route.reason}")


async def main(home: Path) -> None:
    await show(home, "hoist the sails")
    await show(home, "hoist the sails", pirate=PirateWords())
    await show(home, "Quick: compare rum and gin", hurried=Hurried())
    await show(home, "compare rum and gin", terse=Terse())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
