"""Two speeds: a short answer at once, or a long one with thought. Every sign that decides is in `evidence.py`."""

from __future__ import annotations

from pathlib import Path

from bumble_core import Settings, hookimpl
from bumble_core.languages import read_packs
from bumble_core.ports import Inference, Router, SignalSource
from bumble_core.types.languages import LanguagePack

from .classifier import Classifier
from .intensity import INTENSITY, TextIntensity
from .router import EvidenceRouter, RouterConfig, classifier_models

__all__ = ["INTENSITY", "EvidenceRouter", "RouterConfig", "RouterPlugin", "TextIntensity"]

_LANGUAGES = Path(__file__).parent / "languages"


class RouterPlugin:
    Config = RouterConfig

    def __init__(self, config: RouterConfig) -> None:
        self._config = config

    @hookimpl(trylast=True)
    def bumble_router(self, inference: Inference, languages: tuple[LanguagePack, ...], settings: Settings) -> Router:
        own = self._config
        asked = Classifier(inference, classifier_models(own.classifier_models), own.classifier_timeout_s)
        return EvidenceRouter(own, asked if own.classifier else None, languages, settings)

    @hookimpl(trylast=True)
    def bumble_signals(self) -> list[SignalSource]:
        return [TextIntensity()]

    @hookimpl
    def bumble_languages(self) -> tuple[LanguagePack, ...]:
        return read_packs(_LANGUAGES)
