"""The sections of the memory in the prompt: what is stable in the system prompt, what fits the moment in the tail."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from bumble_core import framed, shortened
from bumble_core.types.turn import TurnContext

from .ages import KNOWLEDGE
from .markdown import Passage, passages, sections
from .memory import CATALOG, PROJECTS, WORKING, Memory
from .skills import FOLDER

_MOST_SKILLS = 3  # Bumblebee's Cognition page: procedural memory
_PREFERENCES = re.compile(r"preference", re.IGNORECASE)

Placement = Literal["system", "turn"]


class Knowledge:
    """`knowledge.md`, section by section as far as the budget goes; it looks for all sections of the memory."""

    placement: Placement = "system"
    place = 70

    def __init__(self, memory: Memory, chars: int) -> None:
        self._memory, self._chars = memory, chars

    async def look(self, turn: TurnContext) -> None:
        await self._memory.look()

    def key(self, turn: TurnContext) -> str:
        return self._memory.version(KNOWLEDGE)

    async def render(self, turn: TurnContext) -> str:
        known = self._memory.knowledge.newest_first
        blocks = (f"## {one.heading}\n{one.body}".rstrip() if one.heading else one.body for one in known)
        text = _within(blocks, self._chars)
        head = "What you know from earlier conversations, the most recently confirmed first (memory/knowledge.md):"
        return f"{head}\n{framed('knowledge', text)}" if text else ""


class SkillCatalog:
    """Which skills there are, so that the model can read one: the catalog of its job, else what the files say."""

    placement: Placement = "system"
    place = 60

    def __init__(self, memory: Memory, chars: int) -> None:
        self._memory, self._chars = memory, chars

    def key(self, turn: TurnContext) -> str:
        return self._text()

    async def render(self, turn: TurnContext) -> str:
        text = self._text()
        head = "Skills that you have; read one with read_memory before you use it:"
        return f"{head}\n{framed(FOLDER, text)}" if text else ""

    def _text(self) -> str:
        paths = (CATALOG, *(skill.path for skill in self._memory.skills))
        return self._memory.once("catalog", paths, lambda: _within(self._lines(), self._chars, "\n"))

    def _lines(self) -> list[str]:
        if catalog := self._memory.text(CATALOG):
            return [entry.text for entry in passages(catalog) if entry.is_entry]
        return [f"- {one.name}: {one.description} ({one.path})" for one in self._memory.skills]


class ProjectContext:
    """What is going on: the working memory and the projects."""

    placement: Placement = "turn"
    place = 20

    def __init__(self, memory: Memory, working_chars: int, projects_chars: int) -> None:
        self._memory = memory
        self._budgets = {WORKING: ("working memory", working_chars), PROJECTS: ("projects", projects_chars)}

    def key(self, turn: TurnContext) -> str:
        return " ".join(self._memory.version(path) for path in self._budgets)

    async def render(self, turn: TurnContext) -> str:
        return self._memory.once("context", tuple(self._budgets), self._framed)

    def _framed(self) -> str:
        texts = ((label, _told(self._memory.text(path), most)) for path, (label, most) in self._budgets.items())
        return "\n".join(framed(label, text) for label, text in texts if text)


class RelevantMemory:
    """Facts and preferences that have words with the message in common; preferences fill what room is left."""

    placement: Placement = "turn"
    place = 30

    def __init__(self, memory: Memory, chars: int) -> None:
        self._memory, self._chars = memory, chars

    def key(self, turn: TurnContext) -> str:
        return turn.input.id

    async def render(self, turn: TurnContext) -> str:
        fitting = self._memory.fitting_entries(turn) if self._memory.entries else ()
        always = (entry for entry in reversed(self._memory.entries) if _PREFERENCES.search(entry.heading))
        chosen = dict.fromkeys((*fitting, *always))
        text = _within((_labelled(entry) for entry in chosen), self._chars, "\n")
        return framed("what you remember that may matter here", text) if text else ""


class ProceduralMemory:
    """The skills that fit the message best, whole as far as the budget goes."""

    placement: Placement = "turn"
    place = 40

    def __init__(self, memory: Memory, chars: int) -> None:
        self._memory, self._chars = memory, chars

    def key(self, turn: TurnContext) -> str:
        return turn.input.id

    async def render(self, turn: TurnContext) -> str:
        fitting = self._memory.fitting_skills(turn, _MOST_SKILLS) if self._chars and self._memory.skills else ()
        share = self._chars // len(fitting) if fitting else 0
        texts = (f"# {one.name} ({one.path})\n{one.description}\n\n{one.body}" for one in fitting)
        text = "\n\n".join(found for text in texts if (found := shortened(text, share)))
        return framed("skills that may help here", text) if text else ""


def _within(blocks: Iterable[str], most: int, between: str = "\n\n") -> str:
    """Join whole blocks as long as they fit; the first that does not is shortened and ends it."""
    text = ""
    for block in blocks:
        longer = f"{text}{between}{block}" if text else block
        if len(longer) > most:
            rest = shortened(block, most - len(text) - len(between) * bool(text))
            return f"{text}{between}{rest}" if text and rest else text or rest
        text = longer
    return text


def _told(text: str, most: int) -> str:
    """Return a file without sections that hold nothing, shortened."""
    blocks = [
        f"## {one.heading}\n{one.body}" if one.heading else one.body for one in sections(text) if one.body.strip()
    ]
    return shortened("\n\n".join(blocks).strip(), most)


def _labelled(entry: Passage) -> str:
    return f"{entry.text} ({entry.heading})" if entry.heading else entry.text
