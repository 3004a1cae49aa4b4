"""Two speeds: a short answer at once, or a long one with thought. Every sign that decides is in `evidence.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from bumble_core import Later, Settings, hookimpl
from bumble_core.languages import read_packs
from bumble_core.ports import Explaining, Inference, Router, SignalSource
from bumble_core.types.inference import ModelRef
from bumble_core.types.languages import LanguagePack
from bumble_core.types.turn import Explanation, Route, TurnInput

from .config import RouterConfig

__all__ = ["DeferredRouter", "RouterConfig", "RouterPlugin"]

_LANGUAGES = Path(__file__).parent / "languages"


class _Working(Router, Explaining, Protocol): ...


class DeferredRouter:
    """The router; what it looks at is loaded when a message comes."""

    def __init__(self, *given: object) -> None:
        self._router: Later[_Working] = Later("bumble_router.router:evidence_router", *given)

    async def route(self, input: TurnInput) -> Route:
        return await self._router().route(input)

    def explain(self, input: TurnInput) -> Explanation:
        return self._router().explain(input)


class _Intensity:
    """The signal, loaded when a message comes."""

    def __init__(self) -> None:
        self._source: Later[SignalSource] = Later("bumble_router.intensity:TextIntensity")

    async def read(self, input: TurnInput) -> Mapping[str, float]:
        return await self._source().read(input)


class RouterPlugin:
    Config = RouterConfig

    def __init__(self, config: RouterConfig) -> None:
        self._config = config

    @hookimpl(trylast=True)
    def bumble_router(
        self, inference: Inference, languages: tuple[LanguagePack, ...], settings: Settings
    ) -> DeferredRouter:
        models = tuple(ModelRef.parse(name) for name in self._config.classifier_models)
        return DeferredRouter(self._config, inference, models, languages, settings)

    @hookimpl(trylast=True)
    def bumble_signals(self) -> list[SignalSource]:
        return [_Intensity()]

    @hookimpl
    def bumble_languages(self) -> tuple[LanguagePack, ...]:
        return read_packs(_LANGUAGES)
