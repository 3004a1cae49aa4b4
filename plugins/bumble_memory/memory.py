"""The memory as the prompt needs it: read when it changed, taken apart once for each state of a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from bumble_core import WatchedDocuments
from bumble_core.ports import Documents
from bumble_core.types.turn import TurnContext

from .ages import KNOWLEDGE, KnowledgeAges
from .markdown import Passage, passages
from .relevance import Corpus, terms, weighted
from .skills import FOLDER, Skill, is_skill, read_skill

WORKING = "working/WORKING_MEMORY.md"
PROJECTS = "semantic/projects.md"
FACTS = "semantic/facts.md"
PREFERENCES = "semantic/preferences.md"
REVIEW = "cognition/state/verification_review.md"
CATALOG = "cognition/state/skill_catalog.md"
_FILES = (KNOWLEDGE, WORKING, PROJECTS, FACTS, PREFERENCES, REVIEW, CATALOG)
_EARLIER = 4  # messages of the user before the current one that say what it is about
_FADING = 0.5  # of an earlier message beside the one after it
_LEAST = 0.25  # of how well the best one fits
_READ_CHARS = 4_000  # of a skill's body, for what it is about
_NAME_WEIGHT, _DESCRIPTION_WEIGHT = 3.0, 2.0

T = TypeVar("T")


class Memory:
    """Files by their place, and what follows from them. `look` is for all sections of this plugin."""

    def __init__(self, documents: Documents) -> None:
        self.knowledge = KnowledgeAges(documents)
        self._watched = WatchedDocuments(
            documents, *_FILES, FOLDER, wanted=lambda path: path in _FILES or is_skill(path)
        )
        self._made: dict[str, tuple[tuple[str, ...], object]] = {}

    async def look(self) -> None:
        await self._watched.look()
        await self.knowledge.look(self._watched.document(KNOWLEDGE))

    def text(self, path: str) -> str:
        return self._watched.text(path)

    def version(self, path: str) -> str:
        return self._watched.document(path).version

    @property
    def skills(self) -> tuple[Skill, ...]:
        return self.once("skills", self._skill_paths(), self._read_skills)

    @property
    def entries(self) -> tuple[Passage, ...]:
        """Return facts and preferences in the order of their files."""
        return self.once("entries", (FACTS, PREFERENCES), self._read_entries)

    def fitting_skills(self, turn: TurnContext, most: int) -> tuple[Skill, ...]:
        corpus = self.once("skill words", self._skill_paths(), lambda: Corpus([_skill_terms(s) for s in self.skills]))
        return tuple(self.skills[place] for place in corpus.ranked(asked(turn), _LEAST)[:most])

    def fitting_entries(self, turn: TurnContext) -> tuple[Passage, ...]:
        """Return facts and preferences that fit the message, the best first."""
        corpus = self.once(
            "entry words", (FACTS, PREFERENCES), lambda: Corpus([terms(entry.text) for entry in self.entries])
        )
        return tuple(self.entries[place] for place in corpus.ranked(asked(turn), _LEAST))

    def once(self, name: str, paths: tuple[str, ...], make: Callable[[], T]) -> T:
        """Return what `make` gives, made again only when one of the files has another version."""
        state = tuple(self.version(path) for path in paths)
        known = self._made.get(name)
        if known is None or known[0] != state:
            known = self._made[name] = (state, make())
        return cast("T", known[1])

    def _skill_paths(self) -> tuple[str, ...]:
        return tuple(path for path in self._watched.found if is_skill(path))

    def _read_skills(self) -> tuple[Skill, ...]:
        return tuple(read_skill(path, self.text(path)) for path in self._skill_paths())

    def _read_entries(self) -> tuple[Passage, ...]:
        return tuple(entry for path in (FACTS, PREFERENCES) for entry in passages(self.text(path)) if entry.is_entry)


def asked(turn: TurnContext) -> dict[str, float]:
    """Return the words of the current message and, each counting half as much as the next, of those before it."""
    mine = [message.text for message in turn.input.history if message.role == "user" and message.source == "user"]
    recent = [turn.input.message.text, *reversed(mine[-_EARLIER:])]
    return weighted((text, _FADING**age) for age, text in enumerate(recent))


def _skill_terms(skill: Skill) -> dict[str, float]:
    return weighted(
        ((skill.name, _NAME_WEIGHT), (skill.description, _DESCRIPTION_WEIGHT), (skill.body[:_READ_CHARS], 1.0)),
    )
