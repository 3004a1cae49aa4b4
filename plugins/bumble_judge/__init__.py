"""A turn may end when what was asked for was given: cheap checks first, then one short question to a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bumble_core import Later, PluginConfig, Settings, hookimpl
from bumble_core.languages import read_packs
from bumble_core.ports import Inference, Judge, Tool
from bumble_core.types.languages import LanguagePack
from bumble_core.types.turn import TurnContext, Verdict

_LANGUAGES = Path(__file__).parent / "languages"


class _Gate:
    """The judge; what it looks at is loaded when a turn comes to its end."""

    def __init__(self, *given: object) -> None:
        self._gate: Later[Judge] = Later("bumble_judge.gate:completion_gate", *given)

    async def judge(self, turn: TurnContext) -> Verdict:
        return await self._gate().judge(turn)


class JudgePlugin:
    """Fills the judge's slot and brings the phrases of promises, progress and pro-forma replies."""

    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl
    def bumble_languages(self) -> tuple[LanguagePack, ...]:
        return read_packs(_LANGUAGES)

    @hookimpl(trylast=True)
    def bumble_judge(
        self,
        inference: Inference,
        tools: Mapping[str, Tool],
        languages: tuple[LanguagePack, ...],
        settings: Settings,
    ) -> Judge:
        names = tuple(name for name, tool in tools.items() if tool.is_work)
        return _Gate(inference, names, languages, settings)
