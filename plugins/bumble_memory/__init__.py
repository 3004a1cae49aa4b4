"""What the agent remembers, in its prompt and through tools: knowledge, skills, projects, preferences, itself."""

from __future__ import annotations

from pydantic import Field

from bumble_core import PluginConfig, hookimpl
from bumble_core.ports import Documents, Observer, PromptSection, Sessions, Tool

from .memory import Memory
from .sections import Knowledge, ProceduralMemory, ProjectContext, RelevantMemory, SkillCatalog
from .self_model import Recently, SelfModel
from .tools import MemoryTools


class MemoryConfig(PluginConfig):
    """How much of each kind of memory the prompt shows, in characters; 0 leaves it out."""

    knowledge_chars: int = Field(default=4_000, ge=0, description="Of `knowledge.md`, most recently confirmed first.")
    catalog_chars: int = Field(default=2_000, ge=0, description="Of the catalog of skills.")
    working_chars: int = Field(default=2_000, ge=0, description="Of the working memory.")
    projects_chars: int = Field(default=800, ge=0, description="Of the projects.")
    relevant_chars: int = Field(default=1_000, ge=0, description="Of the facts and preferences that fit the message.")
    skills_chars: int = Field(default=1_500, ge=0, description="Of the three skills that fit the message best.")
    self_chars: int = Field(default=700, ge=0, description="Of how tools, endings and reviews went lately.")


class MemoryPlugin:
    Config = MemoryConfig

    def __init__(self, config: MemoryConfig) -> None:
        self._config = config
        self._recently = Recently()

    @hookimpl
    def bumble_observers(self) -> list[Observer]:
        self._recently = Recently()
        return [self._recently]

    @hookimpl
    def bumble_prompt_sections(self, documents: Documents, sessions: Sessions) -> list[PromptSection]:
        config, memory = self._config, Memory(documents)
        return [
            Knowledge(memory, config.knowledge_chars),
            SkillCatalog(memory, config.catalog_chars),
            ProjectContext(memory, config.working_chars, config.projects_chars),
            RelevantMemory(memory, config.relevant_chars),
            ProceduralMemory(memory, config.skills_chars),
            SelfModel(memory, self._recently, sessions, config.self_chars),
        ]

    @hookimpl
    def bumble_tools(self, documents: Documents) -> list[Tool]:
        return MemoryTools(documents).offered()
