"""A character: who the agent is, how it speaks, and how it feels right now."""

from __future__ import annotations

from bumble_core import PluginConfig, Settings, hookimpl
from bumble_core.ports import Documents, Inference, PromptSection

from .character import Character
from .sections import BodyState, Monologue, VoiceRules
from .writing import Writer


class PersonaPlugin:
    """Reads `agent.personality`, `agent.voice` and `agent.backstory`; an entity without any costs nothing."""

    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl(trylast=True)
    def bumble_prompt_sections(
        self, inference: Inference, documents: Documents, settings: Settings
    ) -> list[PromptSection]:
        character = Character.of(settings.agent)
        sections: list[PromptSection] = [BodyState()]
        if character.is_told:
            is_written = settings.agent.personality.compile == "model"
            sections.append(Monologue(character, Writer(inference, documents) if is_written else None))
        if character.voice:
            sections.append(VoiceRules(character))
        return sections
